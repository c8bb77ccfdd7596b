import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Order, type Ran, joinSockets, socketName } from './sealed-machine-protocol.ts'

const endDeadlineMs = 20_000
const controlGroups = '/sys/fs/cgroup'

/**
 * A machine within this one: processes, mounts and a network of their own. Bridges, firewall rules and mounts that
 * programs make in there are never seen outside, and are gone with the machine, as are all of its processes.
 */
export class SealedMachine {
  readonly folder: string
  /** By which programs inside reach each other, also from containers. */
  readonly address: string
  /** Below which programs inside may make control groups. */
  readonly controlGroup: string
  readonly #child: ChildProcess
  readonly #forwards: Server[] = []

  private constructor(address: string) {
    this.address = address
    this.folder = mkdtempSync(join(tmpdir(), 'sluice-machine-'))
    this.controlGroup = basename(this.folder)
    for (const hierarchy of hierarchies()) makeControlGroup(hierarchy, this.controlGroup)
    const init = join(import.meta.dirname, 'sealed-machine-init.ts')
    const words = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation=private']
    this.#child = spawn('unshare', [...words, process.execPath, init, this.folder, address], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
  }

  static async start(address: string): Promise<SealedMachine> {
    const machine = new SealedMachine(address)
    const { stdout } = machine.#child
    if (!stdout) throw new Error('it has no output')
    const [first] = (await Promise.race([once(stdout, 'data'), once(machine.#child, 'exit')])) as [unknown]
    if (String(first) === 'ready\n') return machine
    await machine.destroy()
    throw new Error(`the machine did not start: ${String(first)}`)
  }

  /** A connection to an address inside. */
  dial(host: string, port: number): Socket {
    const socket = connect({ path: join(this.folder, socketName), allowHalfOpen: true })
    socket.write(`${JSON.stringify({ type: 'connect', host, port } satisfies Order)}\n`)
    return socket
  }

  /** A port of this machine's loopback that leads to an address inside. */
  async forward(host: string, port: number): Promise<number> {
    const server = createServer({ allowHalfOpen: true }, (outside) => {
      joinSockets(this.dial(host, port), outside)
    })
    this.#forwards.push(server)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return (server.address() as AddressInfo).port
  }

  /** Runs a program inside to its end, which must be a good one. */
  async run(program: string, ...args: readonly string[]): Promise<string> {
    const { code, output } = await this.#order({ type: 'run', program, args })
    if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${output}`)
    return output
  }

  /** Starts a program that goes on until the machine ends. Its log is in the folder. */
  async start(program: string, args: readonly string[]): Promise<void> {
    const name = basename(program)
    await this.#succeed({ type: 'start', name, program, args, log: this.logOf(name) })
  }

  /** Kills a program as a crash would. */
  kill(name: string): Promise<void> {
    return this.#succeed({ type: 'kill', name })
  }

  logOf(name: string): string {
    return join(this.folder, `${name}.log`)
  }

  lastLines(name: string, count = 10): string {
    const log = this.logOf(name)
    return existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n').slice(-count).join('\n') : ''
  }

  async destroy(): Promise<void> {
    for (const server of this.#forwards) server.close()
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit')
      // The first process inside ends with its input, all others with that one, and only then does its parent end.
      this.#child.stdin?.end()
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), endDeadlineMs)
      await ended
      clearTimeout(timer)
    }
    removeControlGroups(this.controlGroup)
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #succeed(order: Order): Promise<void> {
    const { code, output } = await this.#order(order)
    if (code !== 0) throw new Error(`${JSON.stringify(order)}: ${output}`)
  }

  async #order(order: Order): Promise<Ran> {
    const socket = connect({ path: join(this.folder, socketName), allowHalfOpen: true })
    socket.write(`${JSON.stringify(order)}\n`)
    return JSON.parse(await text(socket)) as Ran
  }
}

/** One folder with the second version of control groups, one for each controller with the first. */
function hierarchies(): string[] {
  if (existsSync(join(controlGroups, 'cgroup.controllers'))) return [controlGroups]
  return readdirSync(controlGroups)
    .map((name) => join(controlGroups, name))
    .filter((path) => existsSync(join(path, 'tasks')))
}

function makeControlGroup(hierarchy: string, name: string): void {
  const group = join(hierarchy, name)
  mkdirSync(group)
  if (!existsSync(join(group, 'cpuset.cpus')) || existsSync(join(hierarchy, 'cgroup.controllers'))) return
  // Nothing can run in a group of the first version before it has these.
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    writeFileSync(join(group, file), readFileSync(join(hierarchy, file)))
  }
}

/** Programs inside may have made it where nobody had done so for them. */
function removeControlGroups(name: string): void {
  removeControlGroup(join(controlGroups, name))
  for (const hierarchy of readdirSync(controlGroups)) removeControlGroup(join(controlGroups, hierarchy, name))
}

function removeControlGroup(group: string): void {
  if (!existsSync(group)) return
  for (const entry of readdirSync(group, { withFileTypes: true })) {
    if (entry.isDirectory()) removeControlGroup(join(group, entry.name))
  }
  rmdirSync(group)
}
