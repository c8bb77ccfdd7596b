import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestCertificates } from '../../src/apiserver/test-support/certificates.fixture.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import { silentLogger } from '../../src/foundation/log.ts'
import { Metrics } from '../../src/foundation/metrics.ts'
import { AuditTrail } from '../../src/platform/audit/audit-trail.ts'
import { openClusterStore } from '../../src/platform/cluster-store.ts'
import { ControlPlane as EmbeddedControlPlane } from '../../src/platform/control-plane.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { StatusError } from '../../src/resources/status-error.ts'
import type { ControlPlane } from './real-control-plane.ts'

/** The control plane of `sluice up` with nothing else running, for comparison with a kube-apiserver and its etcd. */
export async function startEmbeddedControlPlane(historyLimit?: number, ipv6Range?: string): Promise<ControlPlane> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-embedded-'))
  const { ca, client, server: certificate } = await createTestCertificates('CN=carol, O=testers')
  const token = 'embedded-token'
  const clusterId = 'contract'
  const parts = { clock: systemClock, log: silentLogger, metrics: new Metrics() }
  const store = await openClusterStore({ path: join(folder, 'sluice.db'), historyLimit, ...parts })
  const auditLog = join(folder, 'audit.log')
  const trail = new AuditTrail({ path: auditLog, ...parts })
  const plane = new EmbeddedControlPlane({
    store,
    identity: { clusterId, adminToken: token },
    registry: () => 'registry.lab-1.localhost',
    // As the real one has it, so that the same addresses can be asked for.
    services: { range: '10.96.0.0/16', ipv6Range, apiServer: '10.96.0.1', isLocal: false },
    tls: { ...certificate, ca },
    at: { host: '127.0.0.1', port: 0, audit: trail.write },
    podAccess: {
      // oxlint-disable-next-line require-yield -- there is no node, so no log
      async *logs() {
        throw noNode()
      },
      exec: () => Promise.reject(noNode()),
      attach: () => Promise.reject(noNode()),
      connect: () => Promise.reject(noNode()),
    },
    ...parts,
  })
  await plane.start()
  // A kube-apiserver creates these by itself.
  for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) {
    if (await plane.client.get(namespaceKind, { name })) continue
    await plane.client.create(namespaceKind, { metadata: { name } })
  }
  const server = plane.address
  const kubeconfig = join(folder, 'kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'embedded', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'embedded', context: { cluster: 'embedded', user: 'admin' } }],
    'current-context': 'embedded',
  }
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 })
  return {
    kubeconfig,
    server,
    token,
    certificate: client,
    pids: [],
    auditLog,
    async stop() {
      await plane.stop()
      trail.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function noNode(): StatusError {
  return new StatusError('BadRequest', 'there is no node here')
}
