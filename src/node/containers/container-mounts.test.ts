import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ImageStore } from '../images/image-store.ts'
import { isolationModes } from '../isolation/permitted-modes.fixture.ts'
import { RuntimeStage, never } from './running-containers.fixture.ts'

let stage: RuntimeStage
afterEach(() => stage.close())

const claim = (name: string, more: Record<string, unknown> = {}) => ({
  name,
  persistentVolumeClaim: { claimName: name, ...more },
})

function makeClaim(name: string, files: Record<string, string>): string {
  const folder = join(stage.dataDir, 'volumes', name)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

for (const { mode, permitted, name } of isolationModes) {
  describe.skipIf(!permitted)(`mounts ${name}`, () => {
    beforeEach(() => {
      stage = new RuntimeStage(mode)
    })

    it('give a container its claims, and its scratch space to all containers of the Pod', async () => {
      makeClaim('data', { 'a.txt': 'alpha' })
      const volumes = [claim('data'), { name: 'tmp', emptyDir: {} }, { name: 'ram', emptyDir: { medium: 'Memory' } }]
      const volumeMounts = [
        { name: 'data', mountPath: '/sluice-test/data' },
        { name: 'tmp', mountPath: '/sluice-test/tmp' },
        { name: 'ram', mountPath: '/sluice-test/ram' },
      ]
      const script =
        'cat /sluice-test/data/a.txt; echo 1 >/sluice-test/tmp/x; echo 2 >/sluice-test/ram/y; echo 3 >/sluice-test/data/b'
      const first = stage.launch(script, { volumeMounts }, { volumes })
      const runtime = stage.runtime()
      expect(await stage.run(first, runtime)).toBe('alpha')
      expect(readFileSync(join(stage.dataDir, 'volumes/data/b'), 'utf8')).toBe('3\n')
      const again = {
        ...first,
        attempt: 1,
        container: { ...first.container, args: ['cat /sluice-test/tmp/x /sluice-test/ram/y >/sluice-test/data/seen'] },
      }
      await (
        await runtime.start(again, never)
      ).exited
      expect(readFileSync(join(stage.dataDir, 'volumes/data/seen'), 'utf8')).toBe('1\n2\n')
      // Nothing was made in the machine's own file system.
      expect(existsSync('/sluice-test')).toBe(false)
    })

    it('appear in a folder of the machine beside what is there, and nowhere else', async () => {
      makeClaim('data', { 'a.txt': 'alpha' })
      const volumeMounts = [
        { name: 'data', mountPath: '/usr/sluice-test/deep/data' },
        { name: 'data', mountPath: '/usr/bin/sluice-test' },
      ]
      const script = 'cat /usr/sluice-test/deep/data/a.txt /usr/bin/sluice-test/a.txt; ls -d /usr/bin/env /usr/lib'
      const launch = stage.launch(script, { volumeMounts }, { volumes: [claim('data')] })
      expect(await stage.run(launch)).toBe('alphaalpha/usr/bin/env\n/usr/lib')
      expect([existsSync('/usr/sluice-test'), existsSync('/usr/bin/sluice-test')]).toEqual([false, false])
    })

    it('keep what a program of one kind leaves for the next of its namespace, and for nobody else', async () => {
      const command = ['/bin/sh', '-c']
      const images = new ImageStore({
        'r/kept': { command, kept: '/var/cache/kept' },
        'r/other': { command, kept: '/var/cache/kept' },
      })
      const runtime = stage.runtime({ images })
      const run = async (image: string, script: string, namespace = 'default') => {
        const launch = stage.launch(script, { image: `${image}:1` })
        const pod = { ...launch.pod, metadata: { ...launch.pod.metadata, namespace } }
        await stage.run({ ...launch, pod }, runtime)
        return stage.said(pod)
      }
      await run('r/kept', 'echo compiled >/var/cache/kept/kernels')
      expect(await run('r/kept', 'cat /var/cache/kept/kernels')).toBe('compiled')
      expect(await run('r/kept', 'ls /var/cache/kept', 'elsewhere')).toBe('')
      expect(await run('r/other', 'ls /var/cache/kept')).toBe('')
    })

    it.skipIf(mode !== 'namespaces')('say so where they hide the program that is to run', async () => {
      makeClaim('data', {})
      const container = { command: ['/usr/bin/env', 'true'], volumeMounts: [{ name: 'data', mountPath: '/usr/bin' }] }
      const starting = stage.runtime().start(stage.launch('', container, { volumes: [claim('data')] }), never)
      const reason = 'cannot run "/usr/bin/env": there is no such program in what is mounted at /usr/bin'
      await expect(starting).rejects.toThrow(reason)
    })

    it('work in a folder of a volume', async () => {
      makeClaim('data', { 'deep/a.txt': 'here' })
      const container = { workingDir: '/sluice-test/deep', volumeMounts: [{ name: 'data', mountPath: '/sluice-test' }] }
      expect(await stage.run(stage.launch('cat a.txt', container, { volumes: [claim('data')] }))).toBe('here')
    })

    it('mount part of a volume, named by a variable, and make it when it is not there', async () => {
      makeClaim('data', { 'web/a.txt': 'mine', 'other/a.txt': 'not mine' })
      const container = {
        env: [{ name: 'WHO', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        volumeMounts: [
          { name: 'data', mountPath: '/sluice-test/own', subPathExpr: '$(WHO)' },
          { name: 'data', mountPath: '/sluice-test/new', subPath: 'new/deep' },
        ],
      }
      const launch = stage.launch('cat /sluice-test/own/a.txt; touch /sluice-test/new/x', container, {
        volumes: [claim('data')],
      })
      expect(await stage.run(launch)).toBe('mine')
      expect(readdirSync(join(stage.dataDir, 'volumes/data/new/deep'))).toEqual(['x'])
    })

    it.each(['../..', 'link', 'link/deeper', '/etc', 'a/../..'])('refuse the part %s', async (subPath) => {
      const folder = makeClaim('data', { 'a/b': '' })
      symlinkSync('/etc', join(folder, 'link'))
      const volumeMounts = [{ name: 'data', mountPath: '/sluice-test', subPath }]
      const starting = stage
        .runtime()
        .start(stage.launch('true', { volumeMounts }, { volumes: [claim('data')] }), never)
      await expect(starting).rejects.toMatchObject({ reason: 'CreateContainerConfigError' })
    })

    it('show what the cluster says as files, all at once when it changes', async () => {
      const volumes = [{ name: 'conf', configMap: { name: 'c' } }]
      const volumeMounts = [{ name: 'conf', mountPath: '/sluice-test/conf' }]
      const script =
        'cat /sluice-test/conf/a; until grep -q new /sluice-test/conf/a; do sleep 0.02; done; cat /sluice-test/conf/a'
      const launch = stage.launch(script, { volumeMounts }, { volumes })
      const runtime = stage.runtime()
      const uid = launch.pod.metadata.uid ?? ''
      await runtime.writeVolume(uid, 'conf', new Map([['a', { data: Buffer.from('old\n'), mode: 0o644 }]]))
      const running = await runtime.start(launch, never)
      await expect.poll(() => stage.said(launch.pod)).toBe('old')
      await runtime.writeVolume(uid, 'conf', new Map([['a', { data: Buffer.from('new\n'), mode: 0o644 }]]))
      await running.exited
      expect(stage.said(launch.pod)).toBe('old\nnew')
    })

    it('show folders of the machine only where that is turned on', async () => {
      const folder = makeClaim('elsewhere', { a: 'host' })
      const volumes = [{ name: 'host', hostPath: { path: folder, type: 'Directory' } }]
      const volumeMounts = [{ name: 'host', mountPath: '/sluice-test' }]
      const launch = stage.launch('cat /sluice-test/a', { volumeMounts }, { volumes })
      await expect(stage.runtime().start(launch, never)).rejects.toThrow('hostPath')
      expect(await stage.run(launch, stage.runtime({ allowHostPath: true }))).toBe('host')
    })
  })
}

const [, inNamespaces] = isolationModes
describe.skipIf(inNamespaces?.permitted !== true)('mounts in namespaces only', () => {
  beforeEach(() => {
    stage = new RuntimeStage('namespaces')
  })

  it('are real: a program finds them without being told, read-only where that is said', async () => {
    makeClaim('data', { 'a.txt': 'alpha' })
    const volumeMounts = [
      { name: 'data', mountPath: '/sluice-test/ro', readOnly: true },
      { name: 'data', mountPath: '/sluice-test/rw' },
    ]
    // The paths are put together at run time, so they cannot have been replaced beforehand.
    const script =
      'd=/sluice; d=$d-test; cat $d/ro/a.txt; touch $d/ro/x 2>/dev/null || echo refused; touch $d/rw/y && ls $d/ro'
    const launch = stage.launch(script, { volumeMounts }, { volumes: [claim('data')] })
    expect((await stage.run(launch)).split('\n')).toEqual(['alpharefused', 'a.txt', 'y'])
  })

  it('are read-only for a claim that is, and for what comes from the cluster', async () => {
    makeClaim('data', { a: '' })
    const volumes = [claim('data', { readOnly: true }), { name: 'conf', configMap: { name: 'c' } }]
    const volumeMounts = [
      { name: 'data', mountPath: '/sluice-test/data' },
      { name: 'conf', mountPath: '/sluice-test/conf' },
    ]
    const script = 'for d in data conf; do touch /sluice-test/$d/x 2>/dev/null || echo $d; done'
    expect(await stage.run(stage.launch(script, { volumeMounts }, { volumes }))).toBe('data\nconf')
  })

  it('lie inside one another and over folders of the machine, which stay as they were for it', async () => {
    makeClaim('outer', { o: '' })
    makeClaim('inner', { i: '' })
    const before = readdirSync('/etc').length
    const volumeMounts = [
      { name: 'outer', mountPath: '/sluice-test' },
      { name: 'inner', mountPath: '/sluice-test/deep/inner' },
      { name: 'inner', mountPath: '/etc/sluice-test' },
      { name: 'inner', mountPath: '/mnt' },
    ]
    const script =
      'ls /sluice-test /sluice-test/deep/inner /etc/sluice-test /mnt; test -r /etc/passwd && echo passwd; test -e /etc/shadow || echo safe'
    const launch = stage.launch(script, { volumeMounts }, { volumes: [claim('outer'), claim('inner')] })
    const said = (await stage.run(launch)).split('\n')
    expect(said.filter((line) => line === 'i')).toHaveLength(3)
    expect(said).toEqual(expect.arrayContaining(['o', 'deep', 'passwd', 'safe']))
    expect(readdirSync('/etc')).toHaveLength(before)
  })

  it('lead nowhere else by their links than into what the container sees anyway', async () => {
    const folder = makeClaim('data', { a: '' })
    const secret = join(stage.dataDir, 'secret')
    writeFileSync(secret, 'the keys of the cluster')
    symlinkSync(secret, join(folder, 'link'))
    symlinkSync('/etc/shadow', join(folder, 'shadow'))
    const volumeMounts = [{ name: 'data', mountPath: '/sluice-test' }]
    const script = 'cat /sluice-test/link /sluice-test/shadow 2>/dev/null || echo nothing'
    expect(await stage.run(stage.launch(script, { volumeMounts }, { volumes: [claim('data')] }))).toBe('nothing')
  })

  it('bind a single file of a volume', async () => {
    makeClaim('data', { 'a.conf': 'one file' })
    const volumeMounts = [{ name: 'data', mountPath: '/etc/sluice-test.conf', subPath: 'a.conf' }]
    const launch = stage.launch('cat /etc/sluice-test.conf', { volumeMounts }, { volumes: [claim('data')] })
    expect(await stage.run(launch)).toBe('one file')
  })

  it('make a working directory that nothing provides', async () => {
    expect(await stage.run(stage.launch('pwd; touch x && ls', { workingDir: '/sluice-test/app' }))).toBe(
      '/sluice-test/app\nx',
    )
    expect(existsSync('/sluice-test')).toBe(false)
  })

  it('leave a container only its own processes to see, and end those it started in other sessions', async () => {
    const launch = stage.launch('setsid sleep 1000 & ls /proc | grep -c "^[0-9]*$"')
    expect(Number(await stage.run(launch))).toBeLessThan(10)
  })

  it('say what went wrong when a program is not there, also inside a volume', async () => {
    makeClaim('data', {})
    const volumeMounts = [{ name: 'data', mountPath: '/sluice-test' }]
    const launch = stage.launch('', { command: ['/sluice-test/none'], volumeMounts }, { volumes: [claim('data')] })
    await expect(stage.runtime().start(launch, never)).rejects.toMatchObject({ reason: 'RunContainerError' })
  })
})
