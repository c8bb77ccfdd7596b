import { request } from 'node:https'
import type { KubernetesClient } from '../../src/cluster/kubernetes-client.ts'
import type { KeyAndCertificate } from '../../src/platform/data/certificates.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { podKind } from '../../src/resources/pod.ts'
import { secretKind } from '../../src/resources/secret.ts'
import { serviceExporterKind } from '../../src/resources/service-exporter.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { isRunning, untilPod } from './cluster-stage.ts'

/** A cluster as those know it who belong to it. */
export interface Tenant {
  readonly name: string
  readonly id: string
  readonly client: KubernetesClient
  /** Where its API is, without the prefix, and how it is called in a handshake. */
  readonly server: string
  readonly adminToken: string
  readonly accountToken: string
  readonly certificate: KeyAndCertificate
  readonly serverName: string | undefined
  /** What is in every object of it that somebody else must not see. */
  readonly mark: string
}

export interface Answer {
  readonly code: number
  readonly text: string
}

/** Says who it is, and asks where it is told to. */
const program = `
const { createServer } = require('node:http')
const { connect } = require('node:net')
createServer((_request, response) => response.end(process.env.MARK)).listen(8000, '0.0.0.0')
console.log(process.env.MARK)
const targets = () => { try { return require('node:fs').readFileSync('/targets/list', 'utf8').split(' ').filter(Boolean) } catch { return [] } }
const told = new Set()
setInterval(() => {
  for (const target of targets()) {
    if (told.has(target)) continue
    told.add(target)
    const [port, ...host] = target.split(':').reverse()
    const socket = connect({ host: host.reverse().join(':'), port: Number(port), timeout: 1500 })
    const say = (what) => { console.log(what + ' ' + target); socket.destroy() }
    socket.on('connect', () => say('reached')).on('timeout', () => say('silent')).on('error', () => say('silent'))
  }
}, 200)
`

/** Asks the API of a cluster, as whoever the credential says. */
export function ask(
  tenant: Pick<Tenant, 'server' | 'serverName'>,
  path: string,
  options: {
    token?: string
    certificate?: KeyAndCertificate
    method?: string
    body?: object
    headers?: Record<string, string>
  } = {},
): Promise<Answer> {
  const { token, certificate, method = 'GET', body } = options
  const { hostname, port } = new URL(tenant.server)
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body && { 'content-type': 'application/json' }),
    ...options.headers,
  }
  const servername = tenant.serverName
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: hostname,
      port,
      path,
      method,
      rejectUnauthorized: false,
      agent: false,
      ...(servername !== undefined && { servername }),
      ...certificate,
      headers,
    })
    outgoing.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ code: response.statusCode ?? 0, text }))
    })
    outgoing.on('upgrade', (_response, socket) => {
      socket.destroy()
      resolve({ code: 101, text: '' })
    })
    outgoing.on('error', reject)
    outgoing.end(body && JSON.stringify(body))
  })
}

/** Puts the same into a cluster as into every other, with its own mark in each of it. */
export async function furnish(client: KubernetesClient, mark: string, registry: string): Promise<void> {
  await client.create(configMapKind, { metadata: { name: 'ours', namespace: 'default' }, data: { mark } })
  const data = { mark: Buffer.from(mark).toString('base64') }
  await client.create(secretKind, { metadata: { name: 'ours', namespace: 'default' }, data })
  await client.create(configMapKind, { metadata: { name: 'targets', namespace: 'default' }, data: { list: '' } })
  const image = `${registry}/sluice/sluice:1`
  const container = {
    name: 'main',
    image,
    command: [process.execPath, '-e', program],
    env: [{ name: 'MARK', value: mark }],
    ports: [{ containerPort: 8000 }],
    volumeMounts: [{ name: 'targets', mountPath: '/targets' }],
  }
  const volumes = [{ name: 'targets', configMap: { name: 'targets' } }]
  await client.create(podKind, {
    metadata: { name: 'web', namespace: 'default', labels: { app: 'web' } },
    spec: { containers: [container], volumes, terminationGracePeriodSeconds: 0 },
  })
  const ports = [{ port: 80, targetPort: 8000 }]
  await client.create(serviceKind, {
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: { app: 'web' }, ports },
  })
  const exported = { serviceName: 'web', servicePort: 80 }
  await client.create(serviceExporterKind, { metadata: { name: 'web', namespace: 'default' }, spec: exported })
  await untilPod(client, 'web', 'running', isRunning)
}
