import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { machineEntry } from '../isolation/container-entry.fixture.ts'
import { ContainerShell } from '../isolation/container-shell.ts'
import { detectIsolation } from '../isolation/detect-isolation.ts'
import { namespaceCommand } from '../isolation/isolated-command.ts'
import { isolationModes } from '../isolation/permitted-modes.fixture.ts'
import { RuntimeStage, Sink, never } from '../containers/running-containers.fixture.ts'

const permitted =
  isolationModes.some(({ mode, permitted: is }) => mode === 'namespaces' && is) && process.getuid?.() === 0

/** Tries to change the file it runs from: its mode (to the same one), its content, and its times. */
const changesItsFile = `
  open(my $file, "<", "/proc/self/exe") or die "cannot be opened: $!";
  print "escaped: mode\\n" if chmod((stat $file)[2] & 07777, $file);
  print "escaped: content\\n" if open(my $other, "+<", "/proc/self/exe");
  print "escaped: times\\n" if utime(undef, undef, $file);
  print "tried as $^X\\n"`

describe.skipIf(!permitted)('a container', () => {
  let stage: RuntimeStage
  let outside: string
  beforeEach(() => {
    stage = new RuntimeStage('namespaces')
    outside = mkdtempSync(join(tmpdir(), 'sluice-outside-'))
  })
  afterEach(async () => {
    await stage.close()
    rmSync(outside, { recursive: true, force: true })
  })

  it('does not get at the program that made it by being run from /proc/self/exe', async () => {
    const launch = stage.launch('', { command: ['/proc/self/exe', '-e', changesItsFile], args: [] })
    const said = await stage.run(launch)
    expect(said).toContain('tried as')
    expect(said).not.toContain('escaped')
  })

  it('does not get at the program that made it by a script that is interpreted by /proc/self/exe', async () => {
    const script = `#!/proc/self/exe\n${changesItsFile}`
    mkdirSync(join(stage.dataDir, 'volumes/scripts'), { recursive: true })
    writeFileSync(join(stage.dataDir, 'volumes/scripts/run'), script, { mode: 0o755 })
    const volumes = [{ name: 'scripts', persistentVolumeClaim: { claimName: 'scripts' } }]
    const volumeMounts = [{ name: 'scripts', mountPath: '/scripts' }]
    const launch = stage.launch('', { command: ['/scripts/run'], args: [], volumeMounts }, { volumes })
    const runtime = stage.runtime()
    expect(await stage.run(launch, runtime)).toMatch(/^tried as .*$/)

    const running = stage.launch('exec sleep 3600', { volumeMounts }, { volumes })
    await runtime.start(running, never)
    const said = new Sink()
    await runtime.exec(running.pod.metadata.uid ?? '', 'main', ['/scripts/run'], { stdout: said, stderr: said }, never)
    expect(said.text).toMatch(/^tried as .*$/m)
    expect(said.text).not.toContain('escaped')
  })

  it('could change the program that made it, if that were not kept from it', () => {
    const copy = join(outside, 'perl')
    copyFileSync('/usr/bin/perl', copy)
    chmodSync(copy, 0o755)
    const { stdout } = spawnSync(copy, ['-e', changesItsFile], { encoding: 'utf8' })
    expect(stdout).toContain('escaped: mode')
    expect(stdout).toContain('escaped: times')
  })

  it('has nothing open of what whoever started Sluice had open', async () => {
    const isolation = await detectIsolation(outside, 'namespaces')
    if (isolation.mode !== 'namespaces') throw new Error('no namespaces')
    const open = ['/bin/bash', '-c', 'exec 9</ 200</; exec "$@"', 'bash'] as const
    const [, ...rest] = [...open, ...namespaceCommand(isolation.tools, outside)]
    const shell = new ContainerShell([open[0], ...rest])
    const ended = new Promise((resolve) => shell.child.once('exit', resolve))
    const script = 'ls /proc/self/fd; ls -d /proc/self/fd/9/root /proc/self/fd/200/root'
    const words = ['/bin/sh', '-c', script]
    const env = { PATH: '/usr/bin:/bin' }
    expect(await shell.run(machineEntry(isolation.tools, outside, { words, env }), systemClock)).toBe('')
    await ended
    // Descriptor 3 is the folder that `ls` reads.
    expect(readFileSync(join(outside, 'output'), 'utf8').split('\n').slice(0, 4)).toEqual(['0', '1', '2', '3'])
    expect(readFileSync(join(outside, 'output'), 'utf8')).not.toMatch(/^\/proc/m)
  })

  it('ends by its signals nobody but itself', async () => {
    const runtime = stage.runtime()
    const other = stage.launch('exec sleep 3600')
    const otherRuns = await runtime.start(other, never)
    const script = 'kill -9 1; kill -STOP 1; kill -TERM 1; echo goes on; kill -KILL 0'
    const launch = stage.launch(script)
    const running = await runtime.start(launch, never)
    await running.exited
    expect(stage.said(launch.pod)).toBe('goes on')
    const said = new Sink()
    await runtime.exec(
      other.pod.metadata.uid ?? '',
      'main',
      ['/bin/echo', 'here'],
      { stdout: said, stderr: said },
      never,
    )
    expect(said.text).toBe('here\n')
    await runtime.stop(other.pod.metadata.uid ?? '', 0)
    await otherRuns.exited
  })

  it('becomes no other user by a file that says so', async () => {
    const volumes = [{ name: 'shared', persistentVolumeClaim: { claimName: 'shared' } }]
    const volumeMounts = [{ name: 'shared', mountPath: '/shared' }]
    const runtime = stage.runtime()
    const asRoot = stage.launch('cp /usr/bin/id /shared/id && chmod 4755 /shared/id', { volumeMounts }, { volumes })
    await stage.run(asRoot, runtime)
    const file = join(stage.dataDir, 'volumes/shared/id')
    expect(statSync(file).mode & 0o7777).toBe(0o4755)
    const container = { volumeMounts, securityContext: { runAsUser: 1000, runAsGroup: 1000 } }
    expect(await stage.run(stage.launch('/shared/id -u; id -u', container, { volumes }), runtime)).toBe('1000\n1000')
    // Only the mount options prevent that.
    copyFileSync(file, join(outside, 'id'))
    chmodSync(join(outside, 'id'), 0o4755)
    chmodSync(outside, 0o755)
    const user = { uid: 1000, gid: 1000, encoding: 'utf8' } as const
    expect(spawnSync(join(outside, 'id'), ['-u'], user).stdout).toBe('0\n')
  })

  it('leaves other users of the machine nothing that gives them its rights', async () => {
    chmodSync(stage.dataDir, 0o755)
    const volumes = [
      { name: 'claim', persistentVolumeClaim: { claimName: 'claim' } },
      { name: 'scratch', emptyDir: {} },
    ]
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }))
    const script =
      'for f in /claim /scratch /home/pod /tmp; do cp /usr/bin/id $f/left && chmod 4755 $f/left && echo made; done'
    expect(await stage.run(stage.launch(script, { volumeMounts }, { volumes }))).toBe('made\nmade\nmade\nmade')
    const find = (user: object) =>
      spawnSync('find', [stage.dataDir, '-name', 'left'], { encoding: 'utf8', ...user }).stdout.split('\n').length - 1
    expect([find({}), find({ uid: 65_534, gid: 65_534 })]).toEqual([4, 0])
  })

  it('says nothing by its last message but what it wrote there', async () => {
    writeFileSync(join(stage.dataDir, 'secret'), 'of the cluster')
    const script = `rm -f /dev/termination-log; ln -sf ${stage.dataDir}/secret /dev/termination-log; mv /dev/termination-log /dev/other`
    const launch = stage.launch(`${script}; echo mine >/dev/termination-log; exit 3`)
    const running = await stage.runtime().start(launch, never)
    expect(await running.exited).toMatchObject({ exitCode: 3, message: expect.stringMatching(/^mine\n?$/) })
  })

  it.each([0, 3, 6, 9])('does not begin in what the program that made it has open as %i', async (descriptor) => {
    const runtime = stage.runtime()
    const launch = stage.launch('ls -a; echo begun', { workingDir: `/proc/self/fd/${descriptor}` })
    await expect(runtime.start(launch, never)).rejects.toThrow(/symbolic links|No such file|cannot be|leads nowhere/)
    const link = stage.launch('ln -s "/proc/self/fd/$N" /home/pod/link', {
      env: [{ name: 'N', value: String(descriptor) }],
    })
    await stage.run(link, runtime)
    const again = {
      ...link,
      attempt: 1,
      container: { ...link.container, workingDir: '/home/pod/link', args: ['ls -a'] },
    }
    await expect(runtime.start(again, never)).rejects.toThrow(/symbolic links|No such file|cannot be|leads nowhere/)
  })

  it('leaves nothing on the machine outside of its own folders', async () => {
    const name = `sluice-left-${process.pid}`
    const places = ['/tmp', '/var/tmp', '/run', '/root', '/home', '/srv', '/opt', '/etc', '/dev/shm', '/']
    const script = places.map((place) => `touch ${place}/${name}; mkdir ${place}/${name}.d`).join('; ')
    await stage.run(stage.launch(`${script}; mkfifo /dev/${name}`))
    expect([...places, '/dev'].filter((place) => existsSync(join(place, name)))).toEqual([])
  })
})
