import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeCertificate } from '../../exposure/certificates/made-certificate.fixture.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { ServedCertificate } from './served-certificate.ts'

async function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-certificate-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
  const [made, first, second] = await Promise.all(['made', 'first', 'second'].map((name) => makeCertificate([name])))
  if (!made || !first || !second) throw new Error('not made')
  const clock = new FakeClock()
  const write = ({ cert, key }: { cert: string; key: string }) => {
    writeFileSync(files.cert, cert)
    writeFileSync(files.key, key)
  }
  return {
    files,
    made,
    first,
    second,
    clock,
    write,
    common: { made: { current: made, onChange: () => () => {} }, clock, log: silentLogger },
  }
}

describe('the certificate of the edge', () => {
  it('is the one made here without files', async () => {
    const { made, common } = await setUp()
    expect((await ServedCertificate.open({ ...common, files: undefined })).current).toBe(made)
  })

  it('is that of the files, and another soon after they change; half of a change changes nothing', async () => {
    const { files, first, second, clock, write, common } = await setUp()
    write(first)
    const certificate = await ServedCertificate.open({ ...common, files })
    const changed = Promise.withResolvers<unknown>()
    certificate.onChange(() => changed.resolve(certificate.current))
    certificate.start()
    expect(certificate.current).toEqual(first)
    writeFileSync(files.cert, second.cert)
    await clock.advance(5_000)
    await new Promise((resolve) => setImmediate(resolve))
    expect(certificate.current).toEqual(first)
    write(second)
    const look = async (): Promise<void> => {
      await clock.advance(5_000)
      await new Promise((resolve) => setImmediate(resolve))
      if (certificate.current.cert !== second.cert) await look()
    }
    await look()
    expect(await changed.promise).toEqual(second)
    certificate.stop()
  })

  it('refuses files that are not there or do not belong together, naming the flag', async () => {
    const { files, first, second, write, common } = await setUp()
    await expect(ServedCertificate.open({ ...common, files })).rejects.toThrow('--exposure-cert: ')
    write({ cert: first.cert, key: second.key })
    await expect(ServedCertificate.open({ ...common, files })).rejects.toThrow('the key is not that')
  })
})
