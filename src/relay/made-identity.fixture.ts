import 'reflect-metadata'
import * as x509 from '@peculiar/x509'

export interface Identity {
  readonly key: string
  readonly cert: string
}

/** A key and a certificate that is its own authority, for tests of TLS. */
export async function makeIdentity(name: string): Promise<Identity> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({ name, keys, signingAlgorithm: algorithm })
  const key = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  return { key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`, cert: certificate.toString('pem') }
}
