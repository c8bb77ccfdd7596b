import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ImageStore } from '../images/image-store.ts'
import { type WrittenImage, dockerArchive } from '../images/archives/image-archive.fixture.ts'
import { ImageLibrary } from '../images/image-library.ts'
import { ImportedImages } from '../images/imported-images.ts'
import { type WrittenEntry, file, folder, symlink } from '../images/tar/tar-writer.fixture.ts'
import { isolationModes } from '../isolation/permitted-modes.fixture.ts'
import { RuntimeStage, Sink, never } from './running-containers.fixture.ts'

let stage: RuntimeStage
beforeEach(() => {
  stage = new RuntimeStage('namespaces')
})
afterEach(() => stage.close())

/** The files of an image made of programs of the machine and their libraries. */
function programs(...names: readonly string[]): WrittenEntry[] {
  const paths = names.map((name) => execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim())
  const libraries = paths.flatMap((path) => {
    const said = execFileSync('ldd', [path], { encoding: 'utf8' })
    return [...said.matchAll(/(?:=> )?(\/\S+) \(/g)].map(([, library = '']) => library)
  })
  return [...new Set([...paths, ...libraries])].map((path) =>
    file(path.slice(1), '', { content: readFileSync(realpathSync(path)), mode: 0o755 }),
  )
}

const base = [
  folder('tmp/', { mode: 0o1777 }),
  folder('srv/', { mode: 0o755 }),
  file('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nweb:x:33:34:web:/srv:/bin/sh\n'),
  file('etc/group', 'root:x:0:\nweb:x:34:\nlogs:x:35:web\n'),
  file('srv/page', 'of the image\n'),
  symlink('srv/outside', '/../../../../etc/shadow'),
  symlink('data', '/srv/../srv/deep'),
]

const image: WrittenImage = {
  layers: [programs('sh', 'cat', 'id', 'ls', 'touch', 'sleep'), base],
  names: ['web:1'],
  config: {
    Entrypoint: ['sh', '-c'],
    Cmd: ['echo "$GREETING"; pwd; id; echo $HOME; ls /'],
    Env: ['GREETING=hello', `PATH=${process.env['PATH'] ?? ''}`],
    User: 'web',
    WorkingDir: '/srv',
  },
}

async function imported() {
  const folderOfImages = join(stage.dataDir, 'images')
  const library = new ImageLibrary({ folder: folderOfImages, sync: async () => {} })
  const path = join(stage.dataDir, 'web.tar')
  writeFileSync(path, dockerArchive([image]))
  await library.import({ path, signal: never })
  const roots = new ImportedImages(folderOfImages)
  return { library, runtime: stage.runtime({ images: new ImageStore({}, roots) }) }
}

const [, inNamespaces] = isolationModes
describe.skipIf(inNamespaces?.permitted !== true)('a container from an image', () => {
  const launch = (container: Record<string, unknown> = {}, spec: Record<string, unknown> = {}) =>
    stage.launch('', { image: 'web:1', args: undefined, ...container }, spec)
  const script = (text: string) => ({ command: ['sh', '-c', text] })

  it('runs what the image says, as whom, where and with what it says, and sees nothing but its files', async () => {
    const { runtime } = await imported()
    const said = (await stage.run(launch(), runtime)).split('\n')
    expect(said.slice(0, 4)).toEqual(['hello', '/srv', 'uid=33(web) gid=34(web) groups=34(web),35(logs)', '/srv'])
    expect(said).toEqual(expect.arrayContaining(['dev', 'etc', 'proc', 'srv', 'sys', 'tmp']))
    expect(said).not.toContain('opt')
  })

  it('lets the Pod decide otherwise', async () => {
    const { runtime } = await imported()
    const other = { args: ['echo "$GREETING $(id -u)"'], env: [{ name: 'GREETING', value: 'bye' }] }
    expect(await stage.run(launch(other, { securityContext: { runAsUser: 5 } }), runtime)).toBe('bye 5')
    expect(await stage.run(launch({ ...script('pwd'), workingDir: '/not/there/yet' }), runtime)).toBe('/not/there/yet')
  })

  it('writes to a layer of its own, which a restart empties, and never to the image', async () => {
    const { runtime } = await imported()
    const text = 'cat /srv/page; echo mine >/srv/page; cat /srv/page; touch /new; ls /new'
    const first = launch({ ...script(text), securityContext: { runAsUser: 0 } })
    const expected = 'of the image\nmine\n/new'
    expect(await stage.run(first, runtime)).toBe(expected)
    await (
      await runtime.start({ ...first, attempt: 1 }, never)
    ).exited
    const log = readdirSync(join(stage.dataDir, 'logs/pods'))
    expect(log).toHaveLength(1)
    expect(readFileSync(join(stage.dataDir, 'logs/pods', log[0] ?? '', 'main/1.log'), 'utf8')).toContain('of the image')
    const { roots } = new ImageStore({}, new ImportedImages(join(stage.dataDir, 'images')))
    const root = roots?.find('web:1')?.root ?? ''
    expect([readFileSync(join(root, 'srv/page'), 'utf8'), existsSync(join(root, 'new'))]).toEqual([
      'of the image\n',
      false,
    ])
  })

  it('writes nowhere but to its volumes where its root is for reading only', async () => {
    const { runtime } = await imported()
    const container = {
      ...script(
        'touch /new 2>/dev/null || echo refused; touch /srv/x 2>/dev/null || echo refused; touch /v/y && ls /v',
      ),
      securityContext: { readOnlyRootFilesystem: true, runAsUser: 0 },
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    }
    expect(await stage.run(launch(container, { volumes: [{ name: 'v', emptyDir: {} }] }), runtime)).toBe(
      'refused\nrefused\ny',
    )
  })

  it('follows links of the image inside of it only, also for what is mounted', async () => {
    const { runtime } = await imported()
    mkdirSync(join(stage.dataDir, 'volumes/c'), { recursive: true })
    writeFileSync(join(stage.dataDir, 'volumes/c/mounted'), '')
    const container = {
      ...script('cat /srv/outside 2>/dev/null || echo nothing; ls /srv/deep'),
      volumeMounts: [{ name: 'v', mountPath: '/srv/deep' }],
    }
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }]
    expect(await stage.run(launch(container, { volumes }), runtime)).toBe('nothing\nmounted')
    expect(existsSync('/srv/deep')).toBe(false)
  })

  it('is entered as the image says', async () => {
    const { runtime } = await imported()
    const running = launch(script('sleep 1000'))
    await runtime.start(running, never)
    const stdout = new Sink()
    const uid = running.pod.metadata.uid ?? ''
    expect(await runtime.exec(uid, 'main', ['id', '-un'], { stdout }, never)).toEqual({ exitCode: 0 })
    expect(await runtime.exec(uid, 'main', ['no-such-program'], {}, never)).toEqual({ exitCode: 127 })
    expect(stdout.text).toBe('web\n')
  })

  it('keeps the files of an image that is removed as long as it runs', async () => {
    const { runtime, library } = await imported()
    const running = launch(script('sleep 1000'))
    await runtime.start(running, never)
    expect(await library.remove('web:1', never)).toMatchObject({ inUse: true })
    const uid = running.pod.metadata.uid ?? ''
    expect(await runtime.exec(uid, 'main', ['cat', '/srv/page'], {}, never)).toEqual({ exitCode: 0 })
    await runtime.stop(uid, 0)
    await library.collect(never)
    expect(readdirSync(join(stage.dataDir, 'images/roots'))).toEqual([])
    await expect(runtime.start(launch(script('true')), never)).rejects.toMatchObject({ reason: 'ErrImagePull' })
  })

  it('is refused where its user is not there, or its program', async () => {
    const { runtime } = await imported()
    const missing = runtime.start(launch({ command: ['/no/such/program'] }), never)
    await expect(missing).rejects.toThrow('cannot run "/no/such/program": there is no such program')
    const root = join(stage.dataDir, 'root')
    mkdirSync(root)
    const images = new ImageStore({
      'r/bare': { root, entrypoint: ['/run'], env: {}, user: 'nobody-here', workingDir: '' },
    })
    const starting = stage.runtime({ images }).start(launch({ image: 'r/bare' }), never)
    await expect(starting).rejects.toThrow('the image has no user "nobody-here"')
  })
})
