import { webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
// The X.509 library's dependency injection needs this polyfill first.
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import type { DataFolder } from './data-directory.ts'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const dayMs = 24 * 60 * 60 * 1000

export interface KeyAndCertificate {
  readonly key: string
  readonly cert: string
}

/** The certificate authority of this installation. Its key is made once and never leaves the data directory. */
export class CertificateAuthority {
  readonly certificate: string
  readonly #keys: webcrypto.CryptoKeyPair

  private constructor(certificate: string, keys: webcrypto.CryptoKeyPair) {
    this.certificate = certificate
    this.#keys = keys
  }

  static async open(directory: DataFolder, now: number): Promise<CertificateAuthority> {
    directory.folder('pki')
    const key = directory.read('pki/ca.key')
    const certificate = directory.read('pki/ca.crt')
    if (key !== undefined && certificate !== undefined) {
      return CertificateAuthority.of({ key, cert: certificate })
    }
    const made = await CertificateAuthority.make(now)
    // The key first: a certificate without its key would be useless, a key without a certificate is made anew.
    directory.write('pki/ca.key', made.key)
    directory.write('pki/ca.crt', made.cert)
    return CertificateAuthority.of(made)
  }

  static async of({ key, cert }: KeyAndCertificate): Promise<CertificateAuthority> {
    return new CertificateAuthority(cert, await importKeys(key, cert))
  }

  /** A new authority, for whoever keeps it. */
  static async make(now: number): Promise<KeyAndCertificate> {
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const made = await x509.X509CertificateGenerator.createSelfSigned({
      name: 'CN=Sluice local authority',
      serialNumber: randomSerial(),
      notBefore: new Date(now - dayMs),
      notAfter: new Date(now + 3650 * dayMs),
      signingAlgorithm: algorithm,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    })
    return { key: await exportKey(keys.privateKey), cert: made.toString('pem') }
  }

  /** A new server certificate. It is kept in memory only and made again at each start. */
  issueServer(hosts: readonly string[], now: number): Promise<KeyAndCertificate> {
    const names = hosts.map((value) => ({ type: isIP(value) ? ('ip' as const) : ('dns' as const), value }))
    return this.#issue(new x509.Name([{ CN: [hosts[0] ?? 'localhost'] }]), x509.ExtendedKeyUsage.serverAuth, {
      now,
      days: 397,
      extensions: [new x509.SubjectAlternativeNameExtension(names)],
    })
  }

  /**
   * A client certificate that tells a cluster who its holder is: a user name, and the groups that the user belongs to.
   */
  issueClient(
    user: { readonly name: string; readonly groups?: readonly string[] },
    now: number,
    days = 365,
  ): Promise<KeyAndCertificate> {
    const groups = (user.groups ?? []).map((group) => ({ O: [group] }))
    const subject = new x509.Name([{ CN: [user.name] }, ...groups])
    return this.#issue(subject, x509.ExtendedKeyUsage.clientAuth, { now, days, extensions: [] })
  }

  async #issue(
    subject: x509.Name,
    usage: string,
    options: { readonly now: number; readonly days: number; readonly extensions: readonly x509.Extension[] },
  ): Promise<KeyAndCertificate> {
    const { now, days, extensions } = options
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const authority = new x509.X509Certificate(this.certificate)
    const made = await x509.X509CertificateGenerator.create({
      serialNumber: randomSerial(),
      subject: subject.toString(),
      issuer: authority.subject,
      notBefore: new Date(now - dayMs),
      notAfter: new Date(now + days * dayMs),
      signingAlgorithm: algorithm,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([usage]),
        ...extensions,
        await x509.AuthorityKeyIdentifierExtension.create(this.#keys.publicKey),
      ],
    })
    return { key: await exportKey(keys.privateKey), cert: made.toString('pem') }
  }
}

async function importKeys(pem: string, certificate: string): Promise<webcrypto.CryptoKeyPair> {
  const [der] = x509.PemConverter.decode(pem)
  if (!der) throw new Error('the authority has no key')
  const privateKey = await webcrypto.subtle.importKey('pkcs8', der, algorithm, true, ['sign'])
  const publicKey = await new x509.X509Certificate(certificate).publicKey.export()
  return { privateKey, publicKey }
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')
}

function randomSerial(): string {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16))
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return Buffer.from(bytes).toString('hex')
}
