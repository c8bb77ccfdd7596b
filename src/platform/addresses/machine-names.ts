import { hostname, networkInterfaces } from 'node:os'
import { isIPv4, isIPv6 } from 'node:net'
import type { Clock, CancelTimer } from '../../foundation/clock.ts'

/** What the operating system says of a network interface. */
export interface InterfaceAddress {
  readonly address: string
  readonly internal: boolean
}

export type ReadInterfaces = () => Readonly<Record<string, readonly InterfaceAddress[] | undefined>>

export interface MachineNamesOptions {
  /** The address to listen on. */
  readonly host: string
  readonly clock: Clock
  /** Unless said, as the operating system tells. */
  readonly read?: ReadInterfaces | undefined
  readonly machineName?: () => string
}

/** Addresses come and go with cables and leases. Nothing tells of it, and looking costs next to nothing. */
const lookEveryMs = 10_000
/** No certificate is to have more names than clients read. */
const mostAddresses = 64
/** Networks between this machine and its own containers: nobody else can reach it there. */
const inward = /^(?:sluice-|docker|br-|veth|virbr|cni|flannel|podman)/

/** By which addresses and names others can reach what this program serves, while these change. */
export class MachineNames {
  readonly name = 'addresses of this machine'
  readonly #options: MachineNamesOptions
  readonly #listeners = new Set<() => void>()
  #last: string
  #cancel: CancelTimer = () => {}

  constructor(options: MachineNamesOptions) {
    this.#options = options
    this.#last = this.all.join()
  }

  /** Whether only programs on this machine can ask. */
  get isLocal(): boolean {
    return isLoopback(this.#options.host)
  }

  /** The addresses at which other machines can ask; IPv4 first. */
  get reachable(): readonly string[] {
    const { host, read = networkInterfaces } = this.#options
    if (this.isLocal) return []
    if (!isWildcard(host)) return [host]
    const all = Object.entries(read()).filter(([name]) => !inward.test(name))
    const addresses = all.flatMap(([, found]) => found ?? []).filter(({ internal }) => !internal)
    const usable = addresses.map(({ address }) => address).filter((address) => !address.startsWith('fe80:'))
    const [four, six] = [usable.filter((one) => isIPv4(one)), usable.filter((one) => isIPv6(one))]
    // Of 0.0.0.0 only IPv4 can be reached; of :: both.
    return [...new Set(host === '::' ? [...four, ...six] : four)].slice(0, mostAddresses)
  }

  /** What a certificate has to be for. */
  get all(): readonly string[] {
    const { host, machineName = hostname } = this.#options
    const own = isWildcard(host) ? [] : [host]
    // As machines without a DNS server of their own call each other.
    const neighbourly = this.isLocal || machineName().includes('.') ? [] : [`${machineName()}.local`]
    return [...new Set([...own, 'localhost', '127.0.0.1', machineName(), ...neighbourly, ...this.reachable])]
  }

  /** Calls back when they are not what they were; returns a function that ends this. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  start(): void {
    if (!this.isLocal) this.#lookLater()
  }

  stop(): void {
    this.#cancel()
  }

  #lookLater(): void {
    this.#cancel = this.#options.clock.after(lookEveryMs, () => {
      this.#look()
      this.#lookLater()
    })
  }

  #look(): void {
    const now = this.all.join()
    if (now === this.#last) return
    this.#last = now
    for (const listener of this.#listeners) listener()
  }
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}
