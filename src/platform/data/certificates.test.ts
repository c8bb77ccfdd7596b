import { X509Certificate, webcrypto } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer, request } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CertificateAuthority } from './certificates.ts'
import { DataDirectory } from './data-directory.ts'
import { openServiceAccountKey } from './identity.ts'

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

  it('signs client certificates that name a user and its groups, good for clients only', async () => {
    const authority = await CertificateAuthority.open(directory, Date.now())
    const user = { name: 'system:node:one, really', groups: ['engineers', 'system:nodes'] }
    const client = await authority.issueClient(user, Date.now())
    const tls = await authority.issueServer(['127.0.0.1'], Date.now())
    const server = createServer({ ...tls, ca: authority.certificate, requestCert: true, rejectUnauthorized: false })
    server.on('request', ({ socket }, response) => {
      if (!(socket instanceof TLSSocket)) return
      const { CN, O } = socket.getPeerCertificate().subject
      response.end(JSON.stringify({ authorized: socket.authorized, CN, O }))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const shown = async (own: { key: string; cert: string }) => {
      const call = request({ host: '127.0.0.1', port, ca: authority.certificate, agent: false, ...own }).end()
      const [response] = (await once(call, 'response')) as [AsyncIterable<Buffer>]
      let text = ''
      for await (const chunk of response) text += String(chunk)
      return JSON.parse(text) as object
    }
    expect(await shown(client)).toEqual({ authorized: true, CN: user.name, O: user.groups })
    expect(await shown(tls)).toMatchObject({ authorized: false })
    server.close()
    server.closeAllConnections()
  })

  it('makes certificates that other programs read, with what each is for', async () => {
    const now = Date.UTC(2030, 5, 15, 12)
    const authority = await CertificateAuthority.open(directory, now)
    const { cert } = await authority.issueServer(['vks1.vks.sluice.dev', '10.96.0.1', 'fd00::1', 'localhost'], now)
    const [root, leaf] = [authority.certificate, cert].map((pem) => new x509.X509Certificate(pem))
    if (!root || !leaf) throw new Error('there are no certificates')
    expect(await root.isSelfSigned()).toBe(true)
    expect(await leaf.verify({ publicKey: root.publicKey, date: new Date(now) })).toBe(true)
    expect([leaf.issuer, leaf.subject]).toEqual(['CN=Sluice local authority', 'CN=vks1.vks.sluice.dev'])
    expect([leaf.notBefore.toISOString(), leaf.notAfter.toISOString()]).toEqual([
      '2030-06-14T12:00:00.000Z',
      '2031-07-17T12:00:00.000Z',
    ])
    expect(root.getExtension(x509.BasicConstraintsExtension)).toMatchObject({ ca: true, pathLength: 0, critical: true })
    expect(leaf.getExtension(x509.BasicConstraintsExtension)).toMatchObject({ ca: false, critical: true })
    expect(leaf.getExtension(x509.KeyUsagesExtension)?.usages).toBe(x509.KeyUsageFlags.digitalSignature)
    expect(leaf.getExtension(x509.ExtendedKeyUsageExtension)?.usages).toEqual([x509.ExtendedKeyUsage.serverAuth])
    expect(leaf.getExtension(x509.SubjectAlternativeNameExtension)?.names.toJSON()).toEqual([
      { type: 'dns', value: 'vks1.vks.sluice.dev' },
      { type: 'ip', value: '10.96.0.1' },
      { type: 'ip', value: 'fd00::1' },
      { type: 'dns', value: 'localhost' },
    ])
    expect(leaf.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId).toBe(
      root.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId,
    )
  })

  it('goes on with an authority that another library has made', async () => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const made = await x509.X509CertificateGenerator.createSelfSigned({
      name: 'CN=Sluice local authority',
      signingAlgorithm: algorithm,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    })
    directory.folder('pki')
    const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
    directory.write('pki/ca.key', x509.PemConverter.encode(key, 'PRIVATE KEY'))
    directory.write('pki/ca.crt', made.toString('pem'))
    const authority = await CertificateAuthority.open(directory, Date.now())
    expect(authority.certificate).toBe(made.toString('pem'))
    const { cert } = await authority.issueClient({ name: 'carol' }, Date.now())
    const leaf = new x509.X509Certificate(cert)
    // Some who verify compare the names byte by byte.
    expect(Buffer.from(leaf.issuerName.toArrayBuffer()).equals(Buffer.from(made.subjectName.toArrayBuffer()))).toBe(
      true,
    )
    expect(leaf.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId).toBe(
      made.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId,
    )
    expect(new X509Certificate(cert).checkIssued(new X509Certificate(authority.certificate))).toBe(true)
  })

  it('keeps its key, and the one that signs tokens, for its owner alone and for ever', async () => {
    await CertificateAuthority.open(directory, Date.now())
    const key = openServiceAccountKey(directory)
    expect(openServiceAccountKey(directory)).toBe(key)
    for (const name of ['pki/ca.key', 'pki/service-accounts.key']) {
      expect(statSync(directory.path(name)).mode & 0o777).toBe(0o600)
    }
    directory.write('pki/service-accounts.key', 'damaged')
    expect(() => openServiceAccountKey(directory)).toThrow(expect.objectContaining({ code: 'data_file_unreadable' }))
  })
})
