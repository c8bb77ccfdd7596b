import { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ApiServer } from '../../apiserver/api-server.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { CertificateAuthority } from './certificates.ts'
import { RenewedCertificate } from './renewed-certificate.ts'

const log = silentLogger

async function stage() {
  const clock = new FakeClock(Date.now())
  const authority = await CertificateAuthority.of(await CertificateAuthority.make(Date.now()))
  const names = ['localhost', '192.0.2.7']
  const listeners = new Set<() => void>()
  const certificate = await RenewedCertificate.issue({
    of: 'a test',
    authority,
    names: () => names,
    onNamesChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    clock,
    log,
  })
  const tell = () => {
    for (const listener of listeners) listener()
  }
  return { clock, authority, names, certificate, tell }
}

const namesIn = (pem: string) => new X509Certificate(pem).subjectAltName

describe('a certificate for names that change', () => {
  it('is issued again when they do, and only then', async () => {
    const { names, certificate, tell } = await stage()
    expect(namesIn(certificate.current.cert)).toBe('DNS:localhost, IP Address:192.0.2.7')
    const first = certificate.current
    await certificate.start()
    const changed = new Promise<void>((resolve) => void certificate.onChange(resolve))
    tell()
    names.push('198.51.100.4')
    tell()
    await changed
    expect(namesIn(certificate.current.cert)).toContain('IP Address:198.51.100.4')
    expect(certificate.current).not.toBe(first)
    await certificate.stop()
  })

  it('is what new connections to the Kubernetes API are shown', async () => {
    const { clock, authority, certificate } = await stage()
    const ca = authority.certificate
    const server = new ApiServer({ tls: { ...certificate.current, ca }, log, clock, metrics: new Metrics() })
    const { port } = await server.listen('127.0.0.1', 0)
    onTestFinished(() => server.close(0))
    const shown = () =>
      new Promise<string | undefined>((resolve, reject) => {
        const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost' }, () => {
          resolve(socket.getPeerCertificate().subjectaltname)
          socket.destroy()
        }).once('error', reject)
      })
    expect(await shown()).toBe('DNS:localhost, IP Address:192.0.2.7')
    server.useCertificate({ ...(await authority.issueServer(['localhost', '198.51.100.4'], Date.now())), ca })
    expect(await shown()).toBe('DNS:localhost, IP Address:198.51.100.4')
  })
})
