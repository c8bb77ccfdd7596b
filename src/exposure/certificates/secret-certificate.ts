import { createPrivateKey, X509Certificate } from 'node:crypto'
import { errorMessage } from '../../foundation/errors.ts'
import type { Secret } from '../../resources/secret.ts'

/** A certificate with its chain, and its key, both PEM. */
export interface HostCertificate {
  readonly key: string
  readonly cert: string
}

export type CertificateProblem = 'SecretNotFound' | 'SecretInvalid' | 'HostNotCovered' | 'CertificateExpired'

/** Which certificate a host shows. A certificate with a problem (it has expired) is shown nevertheless. */
export interface CertificateVerdict {
  readonly certificate?: HostCertificate | undefined
  readonly problem?: { readonly reason: CertificateProblem; readonly message: string } | undefined
  /** When the certificate expires and the verdict has to be made again; `undefined` if it has expired already. */
  readonly validUntil?: number | undefined
}

interface ReadCertificate extends HostCertificate {
  readonly leaf: X509Certificate
}

/** Certificates that were parsed, which takes long. A Secret that has not changed is the same object. */
const read = new WeakMap<Secret, ReadCertificate | string>()

/** Reads the certificate for a host from a Secret of the type `kubernetes.io/tls`. */
export function certificateOf(secret: Secret, host: string, now: number): CertificateVerdict {
  const { name } = secret.metadata
  const found = read.get(secret) ?? readCertificate(secret)
  read.set(secret, found)
  if (typeof found === 'string') return refused('SecretInvalid', `The Secret ${name} cannot be used: ${found}.`)
  const { key, cert, leaf } = found
  if (leaf.checkHost(host) === undefined) {
    return refused('HostNotCovered', `The certificate in the Secret ${name} is not for ${host}.`)
  }
  const validUntil = leaf.validToDate.getTime()
  if (validUntil > now) return { certificate: { key, cert }, validUntil }
  const message = `The certificate in the Secret ${name} was valid until ${leaf.validToDate.toISOString()}.`
  return { certificate: { key, cert }, problem: { reason: 'CertificateExpired', message } }
}

export function secretMissing(name: string, namespace: string): CertificateVerdict {
  return refused(
    'SecretNotFound',
    `There is no Secret ${name} of the type kubernetes.io/tls in the namespace ${namespace}.`,
  )
}

/** The first certificate of the chain. Throws if the key does not belong to it. */
export function checkedLeaf({ key, cert }: HostCertificate): X509Certificate {
  const leaf = new X509Certificate(cert)
  if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error('the key is not that of the certificate')
  return leaf
}

function readCertificate({ data = {} }: Secret): ReadCertificate | string {
  const text = (name: string) => Buffer.from(data[name] ?? '', 'base64').toString('utf8')
  const pair = { key: text('tls.key'), cert: text('tls.crt') }
  try {
    return { ...pair, leaf: checkedLeaf(pair) }
  } catch (error) {
    return errorMessage(error)
  }
}

function refused(reason: CertificateProblem, message: string): CertificateVerdict {
  return { problem: { reason, message: `${message} The certificate of this installation is shown instead.` } }
}
