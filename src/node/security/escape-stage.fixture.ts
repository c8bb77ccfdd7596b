import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type Server, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ProcessRuntime } from '../process-runtime.ts'
import { RuntimeStage, Sink, never } from '../containers/running-containers.fixture.ts'
import { attemptScript, canBeTried, escapeAttempts } from './escape-attempts.fixture.ts'

export const secretVariable = 'SLUICE_TEST_SECRET'
const machine = process.arch === 'arm64' ? 'arm64' : 'x64'
const key = `sluice-test-${process.pid}`
const addedKey = machine === 'x64' ? 248 : 217
const keyCall = machine === 'x64' ? 250 : 219
const handleCall = machine === 'x64' ? 303 : 264
const folders = {
  ROOT: '/',
  HOME_OF_ROOT: '/root',
  HOMES: '/home',
  TMP: '/tmp',
  VAR_TMP: '/var/tmp',
  RUN: '/run',
  LOG: '/var/log',
  STATE: '/var/lib',
  ETC: '/etc',
  DEV: '/dev',
  SHM: '/dev/shm',
  PTS: '/dev/pts',
  PROC: '/proc',
}

/** A machine with secrets, from whose containers escapes are tried. */
export class EscapeStage {
  readonly stage = new RuntimeStage('namespaces')
  readonly runtime: ProcessRuntime = this.stage.runtime()
  readonly #outside = mkdtempSync(join(tmpdir(), 'sluice-outside-'))
  readonly #process: ChildProcess
  readonly #socket: Server
  #facts: Record<string, string> = {}

  constructor() {
    process.env[secretVariable] = 'of the machine'
    this.#process = spawn('/bin/sleep', ['3600'], { stdio: 'ignore' })
    this.#socket = createServer((connection) => connection.destroy())
  }

  async open(): Promise<void> {
    const { dataDir } = this.stage
    await new Promise<void>((resolve) => this.#socket.listen(join(this.#outside, 'socket'), resolve))
    writeFileSync(join(dataDir, 'secret'), 'of the cluster')
    const neighbour = await this.#startNeighbour()
    const { pid = 0 } = this.#process
    perl('$t = "user"; $d = "x"; syscall($ARGV[1], $t, $ARGV[0], $d, 1, -4) > 0 or die $!', key, addedKey)
    const segment = perl('$k = 0x510000 + $$; shmget($k, 4096, 01666) // die $!; print $k')
    const handle = perl(
      '$p = "/"; $h = pack("LlA128", 128, 0, ""); $m = pack("L", 0); syscall($ARGV[0], -100, $p, $h, $m, 0) == 0 or exit; print unpack "H*", $h',
      handleCall,
    )
    this.#facts = {
      SECRET: join(dataDir, 'secret'),
      ...neighbour,
      OUTSIDE_PID: String(pid),
      OUTSIDE_START: readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ')[21] ?? '',
      SOCKET: join(this.#outside, 'socket'),
      SEGMENT: segment,
      KEY: key,
      HANDLE: handle,
      OLD_GROUPS: 'memory',
      ...Object.fromEntries(
        Object.entries(folders).map(([name, path]) => {
          const facts = statSync(path, { bigint: true, throwIfNoEntry: false })
          return [`ID_${name}`, facts ? `${facts.dev}:${facts.ino}` : 'not there']
        }),
      ),
    }
  }

  /** The result of each attempt, by name, on the machine itself, where nothing prevents it. */
  onMachine(): ReadonlyMap<string, string> {
    const scratch = join(this.#outside, 'scratch')
    mkdirSync(scratch)
    // With an output file like a container's.
    const output = openSync(join(this.#outside, 'output'), 'a')
    const tried = escapeAttempts.filter(canBeTried)
    const script = `exec 9</; ${attemptScript(tried, machine)}`
    const env = { ...process.env, ...this.#facts, FIRST: this.#facts['OUTSIDE_PID'], SCRATCH: scratch }
    spawnSync('/bin/sh', ['-c', script], { env, stdio: ['ignore', output, 'ignore'], cwd: scratch })
    closeSync(output)
    return results(readFileSync(join(this.#outside, 'output'), 'utf8'))
  }

  /** The same in a container's own program. */
  async inContainer(securityContext: object): Promise<ReadonlyMap<string, string>> {
    const launch = this.stage.launch(attemptScript(escapeAttempts, machine), this.#container(securityContext))
    return results(await this.stage.run(launch, this.runtime))
  }

  /** The same in a program run by exec. */
  async byExec(securityContext: object): Promise<ReadonlyMap<string, string>> {
    const launch = this.stage.launch('exec sleep 3600', this.#container(securityContext))
    await this.runtime.start(launch, never)
    const uid = launch.pod.metadata.uid ?? ''
    const said = new Sink()
    const words = ['/bin/sh', '-c', attemptScript(escapeAttempts, machine)]
    await this.runtime.exec(uid, 'main', words, { stdout: said, stderr: new Sink() }, never)
    await this.runtime.stop(uid, 0)
    return results(said.text)
  }

  /** The same in a container with a terminal. */
  async inTerminal(securityContext: object): Promise<ReadonlyMap<string, string>> {
    const container = { ...this.#container(securityContext), tty: true, stdin: true }
    const said = await this.stage.run(
      this.stage.launch(attemptScript(escapeAttempts, machine), container),
      this.runtime,
    )
    return results(said.replaceAll('\r', ''))
  }

  /**
   * The same in an ephemeral container that shares the processes of another; it also attacks the process that sets it
   * up.
   */
  async besideAnother(securityContext: object): Promise<ReadonlyMap<string, string>> {
    const target = this.stage.launch('exec sleep 3600')
    await this.runtime.start(target, never)
    const script = `${findLooker}; ${attemptScript(escapeAttempts, machine)}`
    const container = { ...target.container, ...this.#container(securityContext), name: 'looker', args: [script] }
    await (
      await this.runtime.start({ ...target, container, target: 'main' }, never)
    ).exited
    await this.runtime.stop(target.pod.metadata.uid ?? '', 0)
    return ofLooker(this.stage.said(target.pod, 'looker'))
  }

  /** The same in the container that is debugged; it attacks the process that sets up the ephemeral one. */
  async underEyes(securityContext: object): Promise<ReadonlyMap<string, string>> {
    const target = this.stage.launch('exec sleep 3600', this.#container(securityContext))
    await this.runtime.start(target, never)
    const looker = { ...target.container, name: 'looker', args: ['exec sleep 3600'] }
    await this.runtime.start({ ...target, container: looker, target: 'main' }, never)
    const uid = target.pod.metadata.uid ?? ''
    const said = new Sink()
    const words = ['/bin/sh', '-c', `${findLooker}; ${attemptScript(escapeAttempts, machine)}`]
    await this.runtime.exec(uid, 'main', words, { stdout: said, stderr: new Sink() }, never)
    await this.runtime.stop(uid, 0)
    return ofLooker(said.text)
  }

  async close(): Promise<void> {
    this.#process.kill('SIGKILL')
    this.#socket.close()
    perl(
      '$k = $ARGV[0]; $t = "user"; $i = syscall($ARGV[1], 10, -4, $t, $k, 0); syscall($ARGV[1], 9, $i, -4)',
      key,
      keyCall,
    )
    perl('$i = shmget($ARGV[0], 0, 0); shmctl($i, 0, 0)', this.#facts['SEGMENT'] ?? '0')
    delete process.env[secretVariable]
    await this.stage.close()
    rmSync(this.#outside, { recursive: true, force: true })
  }

  #container(securityContext: object): Record<string, unknown> {
    const facts = { ...this.#facts, FIRST: '1', SCRATCH: '/home/pod' }
    return {
      securityContext,
      resources: { limits: { memory: '512Mi', cpu: '2' } },
      env: Object.entries(facts).map(([name, value]) => ({ name, value })),
    }
  }

  async #startNeighbour(): Promise<Record<string, string>> {
    const script =
      'echo here >/disk/neighbour-secret; echo here >/memory/neighbour-memory; echo started; exec sleep 3600'
    const volumes = [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
    ]
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }))
    const launch = this.stage.launch(script, { volumeMounts }, { volumes })
    await this.runtime.start(launch, never)
    await this.runtime.exec(
      launch.pod.metadata.uid ?? '',
      'main',
      ['/bin/sh', '-c', 'until [ -s /memory/neighbour-memory ]; do :; done'],
      { stdout: new Sink(), stderr: new Sink() },
      never,
    )
    // Uses find(1), which follows no links and skips what it cannot read.
    const find = (name: string) => {
      const where = [this.stage.dataDir, '/dev/shm', '-path', `*/${name}`]
      return spawnSync('find', where, { encoding: 'utf8' }).stdout.split('\n')[0] ?? ''
    }
    return { NEIGHBOUR: find('neighbour-secret'), NEIGHBOUR_MEMORY: find('neighbour-memory'), LOGS: find('main/0.raw') }
  }
}

/** Finds the process that sets up the second container. */
const findLooker = `for process in /proc/[0-9]*; do
  pid=$(basename "$process"); [ "$pid" != 1 ] && [ "$(cat "$process/comm")" = container ] && export FIRST="$pid"
done; echo "looker $FIRST"`

function ofLooker(text: string): ReadonlyMap<string, string> {
  if (!/^looker [2-9]\d*|^looker 1\d+/m.test(text))
    throw new Error(`the process that makes the other is not found: ${text}`)
  return results(text)
}

function results(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split('\n').flatMap((line) => {
      const [, result, name] = /^(escaped|kept) (.+)$/.exec(line) ?? []
      return result === undefined || name === undefined ? [] : [[name, result] as const]
    }),
  )
}

function perl(program: string, ...args: readonly (string | number)[]): string {
  const asNumbers = 'for (@ARGV) { $_ = 0 + $_ if /^-?\\d+$/ } '
  return execFileSync('/usr/bin/perl', ['-e', asNumbers + program, ...args.map(String)], { encoding: 'utf8' })
}
