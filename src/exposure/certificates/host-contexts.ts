import { createSecureContext, type SecureContext } from 'node:tls'
import type { HostCertificate } from './secret-certificate.ts'

interface HeldContext {
  readonly certificate: HostCertificate
  readonly context: SecureContext
}

/**
 * What a handshake needs of the certificates of hosts: made when a host is first asked for, and when it has another.
 */
export class HostContexts {
  readonly #held = new Map<string, HeldContext>()

  /** `undefined` where the host has no certificate of its own. */
  of(host: string, certificate: HostCertificate | undefined): SecureContext | undefined {
    if (!certificate) {
      this.#held.delete(host)
      return undefined
    }
    const held = this.#held.get(host)
    if (held?.certificate.cert === certificate.cert && held.certificate.key === certificate.key) return held.context
    const { key, cert } = certificate
    const context = createSecureContext({ key, cert })
    this.#held.set(host, { certificate, context })
    return context
  }
}
