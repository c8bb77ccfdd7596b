import { createSecureContext, type SecureContext } from 'node:tls'
import type { HostCertificate } from './secret-certificate.ts'

interface HeldContext {
  readonly certificate: HostCertificate
  readonly context: SecureContext
}

/**
 * The TLS contexts of hosts with a certificate of their own. A context is made at the first handshake and kept until
 * the certificate changes.
 */
export class HostContexts {
  readonly #held = new Map<string, HeldContext>()

  /** `undefined` if the host has no certificate of its own. */
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
