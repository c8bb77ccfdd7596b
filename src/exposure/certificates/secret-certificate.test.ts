import { beforeAll, describe, expect, it } from 'vitest'
import type { Secret } from '../../resources/secret.ts'
import { HostContexts } from './host-contexts.ts'
import { makeCertificate } from './made-certificate.fixture.ts'
import { type HostCertificate, certificateOf } from './secret-certificate.ts'

const host = 'shop-x-web-x-c1.site-1.localhost'
const year = 365 * 24 * 3_600_000
let mine: HostCertificate
let other: HostCertificate

beforeAll(async () => {
  const notAfter = new Date(Date.now() + year)
  mine = await makeCertificate([host], { notAfter })
  other = await makeCertificate(['*.site-1.localhost'], { notAfter })
})

function secretOf({ key, cert }: HostCertificate): Secret {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'mine', namespace: 'web' },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': base64(cert), 'tls.key': base64(key) },
  }
}

describe('a certificate in a Secret', () => {
  it('is shown at a host that it is for, by name or by a star', () => {
    const shown = (certificate: HostCertificate) => certificateOf(secretOf(certificate), host, Date.now())
    expect(shown(mine)).toEqual({ certificate: mine, validUntil: expect.any(Number) })
    expect(shown(other)).toEqual({ certificate: other, validUntil: expect.any(Number) })
  })

  it('is not shown at another host, nor without its key', () => {
    expect(certificateOf(secretOf(mine), `x${host}`, Date.now())).toEqual({
      problem: { reason: 'HostNotCovered', message: expect.stringContaining('mine') },
    })
    const mixed = certificateOf(secretOf({ cert: mine.cert, key: other.key }), host, Date.now())
    expect(mixed).toMatchObject({ problem: { reason: 'SecretInvalid', message: expect.stringContaining('key') } })
    expect(certificateOf(secretOf({ cert: 'no PEM', key: '' }), host, Date.now())).toMatchObject({
      problem: { reason: 'SecretInvalid' },
    })
  })

  it('is shown after its time, which is said', () => {
    expect(certificateOf(secretOf(mine), host, Date.now() + 2 * year)).toMatchObject({
      certificate: mine,
      problem: { reason: 'CertificateExpired' },
    })
  })

  it('is read for handshakes once, until it is another', () => {
    const contexts = new HostContexts()
    const first = contexts.of(host, mine)
    expect(contexts.of(host, { ...mine })).toBe(first)
    expect(contexts.of(host, other)).not.toBe(first)
    expect(contexts.of(host, undefined)).toBeUndefined()
  })
})
