import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { backoffMs } from '../../../cluster/pace/backoff.ts'
import type { CancelTimer, Clock } from '../../../foundation/clock.ts'
import { errorMessage } from '../../../foundation/errors.ts'
import type { Logger } from '../../../foundation/log.ts'
import { keyOf, refOf } from '../../../resources/kubernetes-object.ts'
import type { Pod } from '../../../resources/pod.ts'
import { readProcess, signalProcess } from '../../processes/process-identity.ts'
import type { HostPort } from '../host-ports.ts'
import type { UserNetwork } from './user-network.ts'

/** A port of the machine, and the Pod that it is to lead to. */
export interface OutsidePort {
  readonly port: HostPort
  readonly pod: Pod
}

export interface OutsidePortNews {
  readonly pod: Pod
  readonly isOpen: boolean
  readonly message: string
}

export interface OutsidePortsOptions {
  readonly network: Pick<UserNetwork, 'folder' | 'keeper'>
  /** Of this node: other clusters may be in the same network. */
  readonly name: string
  /** The machine's addresses as Pods know them. */
  readonly machine: { readonly ipv4: string; readonly ipv6?: string | undefined }
  /** Tells what concerns a Pod's port: it cannot be had, or can be had after all. */
  tell(news: OutsidePortNews): void
  readonly clock: Clock
  readonly log: Logger
  /** Tells the keeper to look; by default by a signal. */
  wake?(): void
}

/** In the network's folder, as in `keep-ports.pl`. */
const wantedFolder = 'ports'
const saidFile = 'ports.said'
/** While something is not as it should be, the answers are looked at ever more rarely; otherwise at the latter pace. */
const lookLimits = { firstMs: 50, longestMs: 5_000 }
/** A port may still be another Pod's for a moment, and nobody is to be told of that. */
const graceMs = 3_000
const answerMs = 15_000

interface Asked extends OutsidePort {
  /** Since when it has been asked for, or the last problem has lasted. */
  readonly since: number
  readonly problem: string | undefined
  /** The last problem that was told. */
  readonly told: string | undefined
}

/**
 * Has ports of the machine lead to Pods where Sluice is in the network of an ordinary user: whoever keeps that network
 * opens them, and goes on while Sluice is gone.
 */
export class OutsidePorts {
  readonly #options: OutsidePortsOptions
  /** By line of the file. */
  #asked = new Map<string, Asked>()
  #written: string | undefined
  #looks = 0
  #cancelLook: CancelTimer | undefined

  constructor(options: OutsidePortsOptions) {
    this.#options = options
  }

  /** From now on these ports are wanted, and no others. */
  want(ports: readonly OutsidePort[]): void {
    const now = this.#options.clock.now()
    const asked = new Map<string, Asked>()
    for (const { port, pod } of ports) {
      const line = this.#lineOf(port)
      if (line === undefined) continue
      asked.set(line, { since: now, problem: undefined, told: undefined, ...this.#asked.get(line), port, pod })
    }
    this.#asked = asked
    if (this.#text === this.#written) return
    this.#looks = 0
    this.#look()
  }

  /** With `remove`, the ports are given up: for when no Pod runs any more. */
  close(remove: boolean): void {
    this.#cancelLook?.()
    if (!remove) return
    rmSync(this.#file, { force: true })
    this.#wake()
  }

  get #file(): string {
    return join(this.#options.network.folder, wantedFolder, this.#options.name)
  }

  get #text(): string {
    return [...this.#asked.keys()].map((line) => `${line}\n`).join('')
  }

  #lineOf({ protocol, hostIP, hostPort, address, port }: HostPort): string | undefined {
    const { ipv4, ipv6 } = this.#options.machine
    const isIpv6 = address.includes(':')
    const machine = isIpv6 ? ipv6 : ipv4
    if (machine === undefined) return undefined
    return [protocol, hostIP || (isIpv6 ? '::' : '0.0.0.0'), hostPort, machine, address, port].join(' ')
  }

  /** Asks for what is wanted, unless that is done, and sees what became of it. */
  #look(): void {
    this.#cancelLook?.()
    this.#cancelLook = undefined
    const said = this.#ask() ?? this.#said()
    const now = this.#options.clock.now()
    const answers = new Map(
      [...this.#asked.keys()].map((line) => [line, typeof said === 'string' ? said : said?.get(line)]),
    )
    for (const [line, asked] of this.#asked) {
      const answer = answers.get(line)
      this.#asked.set(line, answer === 'open' ? this.#opened(asked, now) : this.#missing(asked, answer, now))
    }
    // It may have missed that it was told.
    if ([...answers.values()].includes(undefined)) this.#wake()
    if (this.#asked.size === 0 && this.#written !== undefined) return
    const isSettled = [...answers.values()].every((answer) => answer === 'open')
    this.#looks = isSettled ? 0 : this.#looks + 1
    const afterMs = isSettled ? lookLimits.longestMs : backoffMs(this.#looks, 1, lookLimits)
    this.#cancelLook = this.#options.clock.after(afterMs, () => this.#look())
  }

  /** Returns why that cannot be done, if it cannot. */
  #ask(): string | undefined {
    const text = this.#text
    if (text === this.#written) return undefined
    const file = this.#file
    try {
      mkdirSync(join(this.#options.network.folder, wantedFolder), { recursive: true, mode: 0o700 })
      writeFileSync(`${file}.new`, text, { mode: 0o600 })
      renameSync(`${file}.new`, file)
    } catch (error) {
      this.#written = undefined
      return errorMessage(error)
    }
    this.#written = text
    this.#wake()
    return undefined
  }

  /** What the keeper says of each line; `undefined` where this one has said nothing yet. */
  #said(): ReadonlyMap<string, string> | undefined {
    const { folder, keeper } = this.#options.network
    try {
      const [who, ...lines] = readFileSync(join(folder, saidFile), 'utf8').split('\n')
      if (Number(who) !== keeper) return undefined
      return new Map(
        lines.map((line) => {
          const words = line.split(' ')
          return [words.slice(0, wordsOfLine).join(' '), words.slice(wordsOfLine).join(' ')]
        }),
      )
    } catch {
      return undefined
    }
  }

  #opened(asked: Asked, now: number): Asked {
    if (asked.told !== undefined) this.#tell(asked, true, 'leads to the Pod now.')
    return { ...asked, problem: undefined, told: undefined, since: now }
  }

  #missing(asked: Asked, answer: string | undefined, now: number): Asked {
    const problem = answer === undefined ? undefined : (reasons[answer] ?? answer)
    const since = problem === asked.problem ? asked.since : now
    const isLasting = now - since >= (problem === undefined ? answerMs : graceMs)
    const telling = problem ?? 'the process that keeps the network of Pods does not answer'
    if (!isLasting || telling === asked.told) return { ...asked, problem, since }
    this.#tell(asked, false, `cannot be had: ${telling}. It is tried again.`)
    return { ...asked, problem, since, told: telling }
  }

  #tell({ port, pod }: Asked, isOpen: boolean, what: string): void {
    const { log } = this.#options
    const place = `${port.hostIP === '' ? 'Port' : `At ${port.hostIP}, port`} ${port.hostPort}/${port.protocol.toUpperCase()}`
    const message = `${place} of the machine ${what}`
    const about = { pod: keyOf(refOf(pod)), port: port.hostPort, protocol: port.protocol }
    if (isOpen) log.info(about, message)
    else log.warn(about, message)
    this.#options.tell({ pod, isOpen, message })
  }

  #wake(): void {
    if (this.#options.wake) return this.#options.wake()
    const keeper = readProcess(this.#options.network.keeper)
    // What it does with other signals is not known of those of former versions, this one they pass over.
    if (keeper) signalProcess(keeper, 'SIGHUP')
  }
}

const wordsOfLine = 6
const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has it',
  EADDRNOTAVAIL: 'the machine has no such address',
  EACCES: 'this user may not have so low a port (net.ipv4.ip_unprivileged_port_start)',
}
