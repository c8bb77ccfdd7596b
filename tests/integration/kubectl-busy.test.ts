import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { connect } from 'node:tls'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { ApiServer } from '../../src/apiserver/api-server.ts'
import { knownTokens } from '../../src/apiserver/access/identity/authentication.ts'
import { createTestCertificates } from '../../src/apiserver/test-support/certificates.fixture.ts'
import { ClusterApi } from '../../src/apiserver/cluster-api.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import { silentLogger } from '../../src/foundation/log.ts'
import { Metrics } from '../../src/foundation/metrics.ts'
import { coreKinds } from '../../src/resources/all-kinds.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { MemoryStore } from '../../src/store/memory-store.ts'
import { kubectlPath } from '../support/programs.ts'

it.skipIf(!kubectlPath)(
  'kubectl that is asked to come again does, and gets its answer',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-kubectl-busy-'))
    const certificates = await createTestCertificates('CN=somebody')
    const metrics = new Metrics()
    const api = new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock: systemClock })
    await api.create(namespaceKind, undefined, { metadata: { name: 'default' } })
    await api.create(configMapKind, 'default', { metadata: { name: 'the-one' } })
    const tls = { ...certificates.server, ca: certificates.ca }
    const limits = { requestsInFlight: 4 }
    const server = new ApiServer({ tls, log: silentLogger, clock: systemClock, metrics, limits })
    const user = { name: 'admin', groups: ['system:masters'] }
    const podAccess = { logs: () => (async function* () {})() }
    server.mount({ id: 'c', api, podAccess, authenticate: knownTokens([{ token: 't', user }]) })
    const { port } = await server.listen('127.0.0.1', 0)
    const others = [1, 2].map(() => connect({ port, host: '127.0.0.1', ca: certificates.ca }))
    try {
      for (const socket of others) {
        socket.on('error', () => {})
        const path = '/vks/c/api/v1/namespaces/default/configmaps'
        const head = [`POST ${path} HTTP/1.1`, 'Host: x', 'Authorization: Bearer t', 'Content-Length: 1000', '', '{']
        socket.write(head.join('\r\n'))
      }
      const config = {
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: 'c',
            cluster: {
              server: `https://127.0.0.1:${port}/vks/c`,
              'certificate-authority-data': Buffer.from(certificates.ca).toString('base64'),
            },
          },
        ],
        users: [{ name: 'u', user: { token: 't' } }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      }
      await writeFile(join(directory, 'kubeconfig'), JSON.stringify(config))
      const args = ['--kubeconfig', join(directory, 'kubeconfig'), '--cache-dir', join(directory, 'cache')]
      const env = { HOME: directory, PATH: process.env['PATH'] }
      const asking = promisify(execFile)(kubectlPath ?? '', [...args, 'get', 'configmaps', '-o', 'name'], { env })
      const refused = 'sluice_apiserver_flow_refused_total{level="admin",reason="requests"}'
      await expect.poll(async () => (await metrics.text()).includes(refused), { timeout: 30_000 }).toBe(true)
      for (const socket of others) socket.destroy()
      expect((await asking).stdout.trim()).toBe('configmap/the-one')
    } finally {
      for (const socket of others) socket.destroy()
      await server.close(0)
      await rm(directory, { recursive: true, force: true })
    }
  },
  60_000,
)
