import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { type Secret, secretKind } from '../../resources/secret.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { CertificateAuthority, type KeyAndCertificate } from '../data/certificates.ts'

const ref = { namespace: gatewayNamespace, name: 'sluice-authority' }

/**
 * The authority that signs the edge's certificate where nobody gave one: kept in a Secret, so that all edges have the
 * same and clients have to trust it once.
 */
export async function openSecretAuthority(
  client: ClusterClient,
  now: number,
  signal?: AbortSignal,
): Promise<CertificateAuthority> {
  const there = pairIn(await client.get(secretKind, ref, signal))
  if (there) return CertificateAuthority.of(there)
  const made = await CertificateAuthority.make(now)
  const data = { 'tls.key': encoded(made.key), 'tls.crt': encoded(made.cert) }
  try {
    await client.create(secretKind, { metadata: ref, type: 'kubernetes.io/tls', data }, signal)
    return await CertificateAuthority.of(made)
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error
  }
  const found = pairIn(await client.get(secretKind, ref, signal))
  if (!found) throw new Error(`the Secret ${ref.namespace}/${ref.name} is not a certificate authority; remove it`)
  return CertificateAuthority.of(found)
}

function pairIn(secret: Secret | undefined): KeyAndCertificate | undefined {
  const [key, cert] = [secret?.data?.['tls.key'], secret?.data?.['tls.crt']]
  return key && cert ? { key: decoded(key), cert: decoded(cert) } : undefined
}

const encoded = (text: string) => Buffer.from(text).toString('base64')
const decoded = (text: string) => Buffer.from(text, 'base64').toString()
