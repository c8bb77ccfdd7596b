import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer } from '../../src/apiserver/api-server.ts'
import { knownTokens } from '../../src/apiserver/authentication.ts'
import { createTestCertificates } from '../../src/apiserver/certificates.fixture.ts'
import { ClusterApi } from '../../src/apiserver/cluster-api.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import { silentLogger } from '../../src/foundation/log.ts'
import { Metrics } from '../../src/foundation/metrics.ts'
import { coreKinds, customKinds } from '../../src/resources/all-kinds.ts'
import { StatusError } from '../../src/resources/status-error.ts'
import { openSqliteStore } from '../../src/store/sqlite-store.ts'
import type { ControlPlane } from './real-control-plane.ts'

/** The embedded API server over TLS and SQLite, with nothing else running: what the real one is compared with. */
export async function startEmbeddedControlPlane(historyLimit?: number): Promise<ControlPlane> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-embedded-'))
  const store = openSqliteStore({ path: join(folder, 'sluice.db'), historyLimit })
  const api = new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock: systemClock })
  const { ca, server: certificate } = await createTestCertificates('CN=nobody')
  const apiServer = new ApiServer({
    tls: { ...certificate, ca },
    log: silentLogger,
    clock: systemClock,
    metrics: new Metrics(),
  })
  const token = 'embedded-token'
  const id = 'contract'
  apiServer.mount({
    id,
    api,
    podAccess: {
      // oxlint-disable-next-line require-yield -- there is no node, so no log
      async *logs() {
        throw new StatusError('BadRequest', 'there is no node here')
      },
    },
    authenticate: knownTokens([{ token, user: { name: 'admin', groups: ['system:masters'] } }]),
  })
  const { port } = await apiServer.listen('127.0.0.1', 0)
  const server = `https://127.0.0.1:${port}/vks/${id}`
  const kubeconfig = join(folder, 'kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: id, cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: id, context: { cluster: id, user: 'admin' } }],
    'current-context': id,
  }
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 })
  return {
    kubeconfig,
    server,
    async stop() {
      await apiServer.close(0)
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
