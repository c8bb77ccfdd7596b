import {
  type KeyObject,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from 'node:crypto'
import { parseAddress } from '../../resources/address-range.ts'
import type { DataFolder } from './data-directory.ts'
import {
  bits,
  contentOf,
  explicit,
  identifier,
  implicit,
  integer,
  octets,
  partsOf,
  sequence,
  setOf,
  text,
  time,
  truth,
} from './der.ts'

const dayMs = 24 * 60 * 60 * 1000
const authorityName = 'Sluice local authority'

const algorithm = sequence(identifier('1.2.840.10045.4.3.2')) // ECDSA with SHA-256
const commonName = '2.5.4.3'
const organization = '2.5.4.10'
const usages = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' }
/** Extensions, as RFC 5280 names them. */
const extensions = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extKeyUsage: '2.5.29.37',
}

export interface KeyAndCertificate {
  readonly key: string
  readonly cert: string
}

interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** The authority that signs what this installation serves. Its key is made once and never leaves the data directory. */
export class CertificateAuthority {
  readonly certificate: string
  readonly #keys: KeyPair
  /** As its certificate has it: who follows a chain compares the bytes. */
  readonly #name: Buffer

  private constructor(certificate: string, keys: KeyPair) {
    this.certificate = certificate
    this.#keys = keys
    this.#name = subjectOf(certificate)
  }

  static async open(directory: DataFolder, now: number): Promise<CertificateAuthority> {
    directory.folder('pki')
    const key = directory.read('pki/ca.key')
    const certificate = directory.read('pki/ca.crt')
    if (key !== undefined && certificate !== undefined) {
      const privateKey = createPrivateKey(key)
      return new CertificateAuthority(certificate, { privateKey, publicKey: createPublicKey(privateKey) })
    }
    const keys = newKeys()
    const name = nameOf([[commonName, authorityName]])
    const made = signed(keys.privateKey, {
      issuer: name,
      subject: name,
      publicKey: keys.publicKey,
      notBefore: now - dayMs,
      notAfter: now + 3650 * dayMs,
      extensions: [
        extension(extensions.basicConstraints, sequence(truth, integer(Buffer.from([0]))), true),
        // To sign certificates, and lists of those that are revoked.
        extension(extensions.keyUsage, bits(Buffer.from([0x06]), 1), true),
        extension(extensions.subjectKeyIdentifier, octets(keyIdentifier(keys.publicKey))),
      ],
    })
    // The key first: a certificate without its key would be useless, a key without a certificate is made anew.
    directory.write('pki/ca.key', exported(keys.privateKey))
    directory.write('pki/ca.crt', made)
    return new CertificateAuthority(made, keys)
  }

  /** A fresh server certificate; it lives in memory and is made anew at each start. */
  async issueServer(hosts: readonly string[], now: number): Promise<KeyAndCertificate> {
    const names = extension(extensions.subjectAltName, sequence(...hosts.map(alternativeName)))
    const subject = nameOf([[commonName, hosts[0] ?? 'localhost']])
    return this.#issue(subject, usages.server, { now, days: 397, more: [names] })
  }

  /** A certificate by which somebody is known to a cluster: the user, and the groups it belongs to. */
  async issueClient(
    user: { readonly name: string; readonly groups?: readonly string[] },
    now: number,
    days = 365,
  ): Promise<KeyAndCertificate> {
    const groups = (user.groups ?? []).map((group): NamePart => [organization, group])
    return this.#issue(nameOf([[commonName, user.name], ...groups]), usages.client, { now, days, more: [] })
  }

  #issue(
    subject: Buffer,
    usage: string,
    options: { readonly now: number; readonly days: number; readonly more: readonly Buffer[] },
  ): KeyAndCertificate {
    const { now, days, more } = options
    const keys = newKeys()
    const authorityKey = implicit(0, keyIdentifier(this.#keys.publicKey))
    const cert = signed(this.#keys.privateKey, {
      issuer: this.#name,
      subject,
      publicKey: keys.publicKey,
      notBefore: now - dayMs,
      notAfter: now + days * dayMs,
      extensions: [
        extension(extensions.basicConstraints, sequence(), true),
        // To sign, which is all that a handshake asks for.
        extension(extensions.keyUsage, bits(Buffer.from([0x80]), 7), true),
        extension(extensions.extKeyUsage, sequence(identifier(usage))),
        ...more,
        extension(extensions.authorityKeyIdentifier, sequence(authorityKey)),
      ],
    })
    return { key: exported(keys.privateKey), cert }
  }
}

interface Content {
  readonly issuer: Buffer
  readonly subject: Buffer
  readonly publicKey: KeyObject
  readonly notBefore: number
  readonly notAfter: number
  readonly extensions: readonly Buffer[]
}

/** PEM of a certificate of version 3. */
function signed(by: KeyObject, content: Content): string {
  const { issuer, subject, publicKey, notBefore, notAfter } = content
  const told = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(randomSerial()),
    algorithm,
    issuer,
    sequence(time(notBefore), time(notAfter)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...content.extensions)),
  )
  const whole = sequence(told, algorithm, bits(sign('sha256', told, by)))
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

function extension(which: string, value: Buffer, isCritical = false): Buffer {
  return sequence(identifier(which), ...(isCritical ? [truth] : []), octets(value))
}

type NamePart = readonly [type: string, value: string]

function nameOf(parts: readonly NamePart[]): Buffer {
  return sequence(...parts.map(([type, value]) => setOf(sequence(identifier(type), text(value)))))
}

function alternativeName(host: string): Buffer {
  const address = parseAddress(host)
  if (!address) return implicit(2, Buffer.from(host, 'latin1'))
  const digits = address.value.toString(16).padStart(address.family === 6 ? 32 : 8, '0')
  return implicit(7, Buffer.from(digits, 'hex'))
}

function subjectOf(certificate: string): Buffer {
  const whole = Buffer.from(certificate.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  const [told] = partsOf(whole)
  // Version, serial number, algorithm, issuer, times, subject.
  const subject = told && partsOf(told)[5]
  if (!subject) throw new Error('pki/ca.crt holds no certificate')
  return subject
}

/** The usual one: the hash of the key's bits, without how many of the last byte are unused. */
function keyIdentifier(publicKey: KeyObject): Buffer {
  const [, key] = partsOf(publicKey.export({ type: 'spki', format: 'der' }))
  if (!key) throw new Error('a public key without a key')
  return createHash('sha1').update(contentOf(key).subarray(1)).digest()
}

function newKeys(): KeyPair {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

function exported(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function randomSerial(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes
}
