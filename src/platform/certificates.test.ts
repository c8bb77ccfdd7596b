import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CertificateAuthority } from './certificates.ts'
import { DataDirectory } from './data-directory.ts'

describe('CertificateAuthority', () => {
  let directory: DataDirectory
  beforeEach(() => void (directory = DataDirectory.open(mkdtempSync(join(tmpdir(), 'sluice-pki-')))))
  afterEach(() => {
    directory.close()
    rmSync(directory.root, { recursive: true, force: true })
  })

  it('signs certificates that a TLS client accepts for a name, a wildcard and an address, also after a restart', async () => {
    const first = await CertificateAuthority.open(directory, Date.now())
    const again = await CertificateAuthority.open(directory, Date.now())
    expect(again.certificate).toBe(first.certificate)
    const server = createServer(await again.issueServer(['*.local-1.localhost', 'localhost', '127.0.0.1'], Date.now()))
    server.on('request', (_request, response) => response.end('hello'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const ask = async (servername: string) => {
      const call = request({
        host: '127.0.0.1',
        port,
        servername,
        ca: first.certificate,
        headers: { host: servername },
      }).end()
      const [response] = (await once(call, 'response')) as [NodeJS.ReadableStream & { statusCode: number }]
      response.resume()
      return response.statusCode
    }
    expect(await ask('gateway-x-sluice-x-abc.local-1.localhost')).toBe(200)
    expect(await ask('localhost')).toBe(200)
    await expect(ask('elsewhere.example')).rejects.toThrow('does not match')
    server.close()
    server.closeAllConnections()
  })
})
