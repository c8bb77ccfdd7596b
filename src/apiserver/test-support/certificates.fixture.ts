// The certificate library needs it.
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  cryptoProvider,
} from '@peculiar/x509'

export interface TestCertificates {
  readonly ca: string
  readonly server: { readonly key: string; readonly cert: string }
  readonly client: { readonly key: string; readonly cert: string }
}

/** For tests: an authority, a server certificate for 127.0.0.1 and a client certificate for this subject. */
export async function createTestCertificates(clientSubject: string): Promise<TestCertificates> {
  cryptoProvider.set(webcrypto)
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const validity = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 86_400_000) }
  const caKeys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const ca = await X509CertificateGenerator.createSelfSigned({
    ...validity,
    name: 'CN=test-authority',
    keys: caKeys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
    ],
  })
  const issue = async (subject: string, addresses: string[]) => {
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const names = addresses.map((value) => ({ type: 'ip' as const, value }))
    const certificate = await X509CertificateGenerator.create({
      ...validity,
      subject,
      issuer: ca.subject,
      publicKey: keys.publicKey,
      signingKey: caKeys.privateKey,
      signingAlgorithm: algorithm,
      extensions: names.length > 0 ? [new SubjectAlternativeNameExtension(names)] : [],
    })
    const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
    return {
      cert: certificate.toString('pem'),
      key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`,
    }
  }
  const server = await issue('CN=test-server', ['127.0.0.1'])
  const client = await issue(clientSubject, [])
  return { ca: ca.toString('pem'), server, client }
}
