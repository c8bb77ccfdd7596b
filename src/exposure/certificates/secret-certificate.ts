import { createPrivateKey, X509Certificate } from 'node:crypto'
import { errorMessage } from '../../foundation/errors.ts'
import type { Secret } from '../../resources/secret.ts'

/** PEM: a certificate with those that lead to its authority, and its key. */
export interface HostCertificate {
  readonly key: string
  readonly cert: string
}

export type CertificateProblem = 'SecretNotFound' | 'SecretInvalid' | 'HostNotCovered' | 'CertificateExpired'

/** What is shown at a host. With a problem and a certificate, that one is shown all the same. */
export interface CertificateVerdict {
  readonly certificate?: HostCertificate | undefined
  readonly problem?: { readonly reason: CertificateProblem; readonly message: string } | undefined
  /** Until when the certificate is valid, if it is now: the verdict has to be made again then. */
  readonly validUntil?: number | undefined
}

interface ReadCertificate extends HostCertificate {
  readonly leaf: X509Certificate
}

/** Reading one takes a while, and routes are planned often: a Secret that has not changed is the same object. */
const read = new WeakMap<Secret, ReadCertificate | string>()

/** The certificate that a Secret of the type `kubernetes.io/tls` has for a host. */
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

/** The leaf of a pair that belongs together. Throws what is wrong with it. */
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
