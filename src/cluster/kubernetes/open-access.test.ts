import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ClusterAccess, RequestToServer } from './cluster-access.ts'
import { accessFromInside, accessOfKubeconfig, usualAccess } from './open-access.ts'
import { PlainAccess } from './plain-access.ts'

const encoded = (text: string) => Buffer.from(text).toString('base64')

async function applied(access: ClusterAccess): Promise<RequestToServer> {
  const options: RequestToServer = { headers: { accept: 'application/json' } }
  await access.apply(options)
  return options
}

function kubeconfig(cluster: object, user: object | null): string {
  return JSON.stringify({
    'current-context': 'x',
    contexts: [
      { name: 'other', context: { cluster: 'none', user: 'none' } },
      { name: 'x', context: { cluster: 'c', user: 'u' } },
    ],
    clusters: [{ name: 'c', cluster: { server: 'https://192.0.2.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
  })
}

describe('access to a cluster', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-access-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('by a kubeconfig that has everything in it', async () => {
    const text = kubeconfig(
      { 'certificate-authority-data': encoded('ca'), 'tls-server-name': 'api.example.com' },
      { token: 't', 'client-certificate-data': encoded('cert'), 'client-key-data': encoded('key') },
    )
    const access = await accessOfKubeconfig(text, folder)
    expect(access).toMatchObject({ server: 'https://192.0.2.1:6443', proxied: false })
    expect(await applied(access)).toEqual({
      headers: { accept: 'application/json', authorization: 'Bearer t' },
      ca: 'ca',
      cert: 'cert',
      key: 'key',
      servername: 'api.example.com',
    })
  })

  it('by files, which are beside the kubeconfig', async () => {
    for (const name of ['ca', 'cert', 'key']) writeFileSync(join(folder, name), `${name} of a file`)
    const text = kubeconfig({ 'certificate-authority': 'ca' }, { 'client-certificate': 'cert', 'client-key': 'key' })
    expect(await applied(await accessOfKubeconfig(text, folder))).toMatchObject({
      ca: 'ca of a file',
      cert: 'cert of a file',
      key: 'key of a file',
    })
  })

  it('by a password, or as nobody, at a server whose certificate is not asked for', async () => {
    const named = await accessOfKubeconfig(kubeconfig({}, { username: 'a', password: 'b' }), folder)
    expect(await applied(named)).toMatchObject({ auth: 'a:b' })
    const nobody = await accessOfKubeconfig(kubeconfig({ 'insecure-skip-tls-verify': true }, null), folder)
    expect(await applied(nobody)).toEqual({ headers: { accept: 'application/json' }, rejectUnauthorized: false })
  })

  it('by a kubeconfig in YAML', async () => {
    const text = `
current-context: x
contexts: [{ name: x, context: { cluster: c } }]
clusters: [{ name: c, cluster: { server: 'http://192.0.2.1' } }]
`
    expect((await accessOfKubeconfig(text, folder)).server).toBe('http://192.0.2.1')
  })

  it('by a program that makes tokens', async () => {
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'made' },
    }
    const exec = {
      apiVersion: credential.apiVersion,
      interactiveMode: 'Never',
      command: process.execPath,
      args: ['-e', `console.log(${JSON.stringify(JSON.stringify(credential))})`],
    }
    const access = await accessOfKubeconfig(kubeconfig({}, { exec }), folder)
    expect((await applied(access)).headers).toMatchObject({ Authorization: 'Bearer made' })
  })

  it('from inside a Pod, with a token that is read again when it may have been renewed', async () => {
    writeFileSync(join(folder, 'ca.crt'), 'ca')
    writeFileSync(join(folder, 'token'), 'first\n')
    const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
    const access = accessFromInside(environment, folder)
    expect(access.server).toBe('https://[fd00::1]:443')
    expect(await applied(access)).toMatchObject({ ca: 'ca', headers: { authorization: 'Bearer first' } })
    let now = 0
    const renewed = new PlainAccess({ server: 'https://a' }, { tokenFile: join(folder, 'token') }, () => now)
    const header = async () => (await applied(renewed)).headers
    expect(await header()).toMatchObject({ authorization: 'Bearer first' })
    writeFileSync(join(folder, 'token'), 'second')
    expect(await header()).toMatchObject({ authorization: 'Bearer first' })
    now = 60_000
    expect(await header()).toMatchObject({ authorization: 'Bearer second' })
    unlinkSync(join(folder, 'token'))
    now = 120_000
    expect(await header()).toMatchObject({ authorization: 'Bearer second' })
  })

  it('by another context than the current one, of those that there are', async () => {
    const text = JSON.stringify({
      'current-context': 'west',
      contexts: ['west', 'east'].map((name) => ({ name, context: { cluster: name, user: name } })),
      clusters: ['west', 'east'].map((name) => ({ name, cluster: { server: `https://${name}.example.com` } })),
    })
    expect(await accessOfKubeconfig(text, folder)).toMatchObject({ server: 'https://west.example.com' })
    expect(await accessOfKubeconfig(text, folder, 'east')).toMatchObject({ server: 'https://east.example.com' })
    const path = join(folder, 'config')
    writeFileSync(path, text)
    expect(await usualAccess({ KUBECONFIG: path }, 'east')).toMatchObject({ server: 'https://east.example.com' })
    await expect(accessOfKubeconfig(text, folder, 'north')).rejects.toThrow(
      'the kubeconfig has no cluster for the context north; it has west, east',
    )
  })

  it('as kubectl finds it', async () => {
    const path = join(folder, 'config')
    writeFileSync(path, kubeconfig({}, { token: 't' }))
    expect(await usualAccess({ KUBECONFIG: `:${path}` })).toMatchObject({ server: 'https://192.0.2.1:6443' })
    await expect(usualAccess({ HOME: folder })).rejects.toThrow('there is no kubeconfig, and this is no Pod')
  })

  it.each([
    ['{}', 'the kubeconfig has no current cluster'],
    ['contexts: 7', 'the kubeconfig is malformed: contexts: '],
  ])('not by %s', async (text, why) => {
    await expect(accessOfKubeconfig(text, folder)).rejects.toThrow(why)
  })
})
