import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { CertificateAuthority, KeyAndCertificate } from './certificates.ts'

export interface RenewedCertificateOptions {
  /** Whose it is. */
  readonly of: string
  readonly authority: CertificateAuthority
  /** The names and addresses that it has to be for at this moment. */
  readonly names: () => readonly string[]
  readonly onNamesChange: (listener: () => void) => () => void
  readonly clock: Clock
  readonly log: Logger
}

/** A certificate of our own for names that change. It is issued again when they do. */
export class RenewedCertificate {
  readonly name: string
  readonly #options: RenewedCertificateOptions
  readonly #listeners = new Set<() => void>()
  #current: KeyAndCertificate
  #names: string
  #forget: () => void = () => {}
  #renewing: Promise<void> = Promise.resolve()

  private constructor(options: RenewedCertificateOptions, first: KeyAndCertificate, names: string) {
    this.#options = options
    this.name = `certificate of ${options.of}`
    this.#current = first
    this.#names = names
  }

  static async issue(options: RenewedCertificateOptions): Promise<RenewedCertificate> {
    const names = namesOf(options)
    const first = await options.authority.issueServer(names, options.clock.now())
    return new RenewedCertificate(options, first, names.join())
  }

  get current(): KeyAndCertificate {
    return this.#current
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async start(): Promise<void> {
    this.#forget = this.#options.onNamesChange(() => this.#renewSoon())
    this.#renewSoon()
    await this.#renewing
  }

  async stop(): Promise<void> {
    this.#forget()
    await this.#renewing
  }

  /** Renewals run one after the other, so that the last certificate is the one for the latest names. */
  #renewSoon(): void {
    this.#renewing = this.#renewing
      .then(() => this.#renew())
      .catch((error: unknown) =>
        this.#options.log.error({ of: this.#options.of, err: error }, 'a certificate was not renewed'),
      )
  }

  async #renew(): Promise<void> {
    const { of, authority, clock, log } = this.#options
    const names = namesOf(this.#options)
    if (names.join() === this.#names) return
    this.#current = await authority.issueServer(names, clock.now())
    this.#names = names.join()
    log.info({ of, names }, 'there is a certificate for other names')
    for (const listener of this.#listeners) listener()
  }
}

function namesOf({ names }: RenewedCertificateOptions): readonly string[] {
  return [...new Set(names())]
}

/** The names of an edge: everything below the domains under which services are exposed, and its own. */
export function edgeNames(domains: readonly string[], hosts: readonly string[]): readonly string[] {
  return [...domains.map((domain) => `*.${domain}`), ...hosts]
}
