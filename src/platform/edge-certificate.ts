import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import type { CertificateAuthority, KeyAndCertificate } from './data/certificates.ts'

export interface EdgeCertificateOptions {
  readonly authority: CertificateAuthority
  /** The names by which programs on this machine reach the edge. */
  readonly hosts: readonly string[]
  /** The domains under which services are exposed at this moment. */
  readonly domains: () => readonly string[]
  readonly onDomainChange: (listener: () => void) => () => void
  readonly clock: Clock
  readonly log: Logger
}

/** The certificate for exposed services. It is issued again when the domains of the compute centers change. */
export class EdgeCertificate {
  readonly name = 'edge certificate'
  readonly #options: EdgeCertificateOptions
  readonly #listeners = new Set<() => void>()
  #current: KeyAndCertificate
  #names: string
  #forget: () => void = () => {}
  #renewing: Promise<void> = Promise.resolve()

  private constructor(options: EdgeCertificateOptions, first: KeyAndCertificate, names: string) {
    this.#options = options
    this.#current = first
    this.#names = names
  }

  static async issue(options: EdgeCertificateOptions): Promise<EdgeCertificate> {
    const names = namesOf(options)
    const first = await options.authority.issueServer(names, options.clock.now())
    return new EdgeCertificate(options, first, names.join())
  }

  get current(): KeyAndCertificate {
    return this.#current
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async start(): Promise<void> {
    this.#forget = this.#options.onDomainChange(() => this.#renewSoon())
    this.#renewSoon()
    await this.#renewing
  }

  async stop(): Promise<void> {
    this.#forget()
    await this.#renewing
  }

  /** Renewals run one after the other, so that the last certificate is the one for the latest domains. */
  #renewSoon(): void {
    this.#renewing = this.#renewing
      .then(() => this.#renew())
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'the certificate of the edge was not renewed'))
  }

  async #renew(): Promise<void> {
    const { authority, clock, log } = this.#options
    const names = namesOf(this.#options)
    if (names.join() === this.#names) return
    this.#current = await authority.issueServer(names, clock.now())
    this.#names = names.join()
    log.info({ names }, 'the edge has a certificate for the domains of the compute centers')
    for (const listener of this.#listeners) listener()
  }
}

function namesOf({ domains, hosts }: EdgeCertificateOptions): readonly string[] {
  return [...new Set([...domains().map((domain) => `*.${domain}`), ...hosts])]
}
