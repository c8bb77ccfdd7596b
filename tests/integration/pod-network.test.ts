import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { nodeKind } from '../../src/resources/node.ts'
import { podKind } from '../../src/resources/pod.ts'
import { roleBindingKind } from '../../src/resources/role-binding.ts'
import { serviceAccountKind } from '../../src/resources/service-account.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { SluiceProcess, killIfThere, processesMentioning, until } from '../support/sluice-process.ts'

const namespace = 'team'
const port = 8080

/** A typical program in a cluster: it passes requests on to the API server, with its own identity. */
const asker = `
const { readFileSync } = require('node:fs')
const folder = '/var/run/secrets/kubernetes.io/serviceaccount/'
const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, POD_IP } = process.env
require('node:http').createServer((request, response) => {
  if (request.url === '/namespace') return response.end(readFileSync(folder + 'namespace'))
  if (request.url === '/variables') return response.end(process.env.ASKER_SERVICE_HOST + ':' + process.env.ASKER_SERVICE_PORT)
  if (request.url === '/claims') return response.end(Buffer.from(String(readFileSync(folder + 'token')).split('.')[1], 'base64url'))
  const headers = { authorization: 'Bearer ' + readFileSync(folder + 'token') }
  const ca = readFileSync(folder + 'ca.crt')
  require('node:https').get({ host, port, path: request.url, ca, headers }, (answer) => {
    response.writeHead(answer.statusCode)
    answer.pipe(response)
  }).on('error', (error) => response.writeHead(599).end(String(error)))
}).listen(${port}, POD_IP)
`

describe('a Pod in its cluster', () => {
  let data: string
  let sluice: SluiceProcess
  let client: KubernetesClient
  let address: string

  const ask = async (path: string) => {
    const response = await fetch(`http://${address}:${port}${path}`, { signal: AbortSignal.timeout(10_000) })
    return { code: response.status, text: await response.text() }
  }

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'sluice-network-'))
    sluice = await SluiceProcess.start(data, ['--no-demo-model', '--no-gateway'])
    client = await connectKubernetes(sluice.kubeconfig)
    await client.create(namespaceKind, { metadata: { name: namespace } })
    await client.create(serviceAccountKind, { metadata: { name: 'reader', namespace } })
    await client.create(roleBindingKind, {
      metadata: { name: 'reader', namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace }],
    })
    const service = await client.create(serviceKind, {
      metadata: { name: 'asker', namespace },
      spec: { selector: { app: 'asker' }, ports: [{ port }] },
    })
    address = service.spec.clusterIP ?? ''
    await client.create(podKind, {
      metadata: { name: 'asker', namespace, labels: { app: 'asker' } },
      spec: {
        serviceAccountName: 'reader',
        containers: [
          {
            name: 'c',
            image: `${sluice.endpoints.registry}/sluice/llama-cpp:1`,
            command: [process.execPath, '-e', asker],
            ports: [{ containerPort: port }],
            readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
          },
        ],
      },
    })
    await until('the Service to answer', 60_000, () => ask('/namespace').then(Boolean, () => false))
  })

  afterAll(() => {
    client?.close()
    sluice?.destroy()
    for (const pid of processesMentioning(data)) killIfThere(pid)
    rmSync(data, { recursive: true, force: true })
  })

  it('has a token that says on which node it is', async () => {
    const { items } = await client.list(nodeKind, {})
    const claims: unknown = JSON.parse((await ask('/claims')).text)
    const [node] = items.map(({ metadata }) => ({ name: metadata.name, uid: metadata.uid }))
    expect(claims).toMatchObject({ 'kubernetes.io': { namespace, pod: { name: 'asker' }, node } })
  })

  it('is reached at the address of its Service, which it knows itself', async () => {
    // On loopback if Pods share the machine's network, else in a private network.
    expect(address).toMatch(/^(127\.(12[89]|1[3-9]\d|2\d\d)|10|172|198)\./)
    expect(await ask('/namespace')).toEqual({ code: 200, text: namespace })
    expect(await ask('/variables')).toEqual({ code: 200, text: `${address}:${port}` })
  })

  it('asks the API server as its service account, and gets what that may see', async () => {
    const pods = await ask(`/api/v1/namespaces/${namespace}/pods`)
    expect(pods.code).toBe(200)
    expect(pods.text).toContain('"name":"asker"')
    const secrets = await ask(`/api/v1/namespaces/${namespace}/secrets`)
    expect(secrets.code).toBe(403)
    expect(secrets.text).toContain(`system:serviceaccount:${namespace}:reader`)
    expect((await ask('/api/v1/namespaces/default/pods')).code).toBe(403)
  })

  it('is nobody any more when its service account is gone', async () => {
    await client.delete(serviceAccountKind, { namespace, name: 'reader' })
    expect((await ask(`/api/v1/namespaces/${namespace}/pods`)).code).toBe(401)
  })
})
