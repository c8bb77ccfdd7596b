import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import type { HostCertificate } from './secret-certificate.ts'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** A certificate that is its own authority. The first name is its subject's, too. */
export async function makeCertificate(
  names: readonly string[],
  validity: { readonly notBefore?: Date; readonly notAfter?: Date } = {},
): Promise<HostCertificate> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const issued = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${names[0]}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))],
    ...validity,
  })
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')
  return { cert: issued.toString('pem'), key }
}
