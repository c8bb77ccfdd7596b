import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { computeCenterKind } from '../../src/resources/compute-center.ts'
import { podKind } from '../../src/resources/pod.ts'
import { serviceExporterKind } from '../../src/resources/service-exporter.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { isRunning, podWith, untilPod } from '../support/cluster-stage.ts'
import { SluiceProcess, until } from '../support/sluice-process.ts'

const flags = ['--no-demo-model', '--no-gateway']

describe('a ComputeCenter whose registry and domain are changed', () => {
  let data: string
  let sluice: SluiceProcess
  let client: KubernetesClient

  const start = async () => {
    sluice = await SluiceProcess.start(data, flags)
    client = await connectKubernetes(sluice.kubeconfig)
  }
  const exporterUrl = async () =>
    (await client.get(serviceExporterKind, { namespace: 'default', name: 'shop' }))?.status?.url ?? ''

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'sluice-center-'))
    await start()
  })

  afterAll(async () => {
    client?.close()
    await sluice?.stop().catch(() => sluice.destroy())
    rmSync(data, { recursive: true, force: true })
  })

  it('has other images, other hosts and a certificate for them at once, and after a restart', async () => {
    const before = podWith(sluice, 'before')
    await client.create(podKind, before)
    await untilPod(client, 'before', 'running', isRunning)
    const ports = [{ port: 80 }]
    await client.create(serviceKind, { metadata: { name: 'shop', namespace: 'default' }, spec: { ports } })
    const exported = { serviceName: 'shop', servicePort: 80 }
    await client.create(serviceExporterKind, { metadata: { name: 'shop', namespace: 'default' }, spec: exported })
    await until('the exposed address', 20_000, async () => (await exporterUrl()).includes('.local-1.localhost:'))

    const spec = { registry: 'images.example.test', proxyDomain: 'apps.example.test' }
    await client.patch(computeCenterKind, { name: 'local-1' }, { spec })
    await until('the new address', 20_000, async () => (await exporterUrl()).includes('.apps.example.test:'))
    await holds()
    expect((await client.get(podKind, { namespace: 'default', name: 'before' }))?.status?.phase).toBe('Running')

    client.close()
    await sluice.stop()
    await start()
    await holds()
    // What ran before the change runs again: its image is still the same program.
    await untilPod(client, 'before', 'running', isRunning)
  })

  async function holds(): Promise<void> {
    await until('the endpoints to say so', 20_000, () => sluice.endpoints.registry === 'images.example.test')
    const refused = podWith(sluice, 'refused')
    const [container] = refused.spec.containers
    const old = { ...container, name: 'main', image: 'registry.local-1.localhost/sluice/sluice:1' }
    await expect(client.create(podKind, { ...refused, spec: { containers: [old] } })).rejects.toThrow(
      "is not from this cluster's registry; use images.example.test/",
    )
    const name = `after-${sluice.endpoints.pid}`
    await client.create(podKind, podWith(sluice, name))
    await untilPod(client, name, 'running', isRunning)
    const host = `shop-x-default-x-${sluice.endpoints.clusterId}.apps.example.test`
    await until('the certificate', 20_000, () => verifies(host))
    expect(await verifies(host.replace('apps.example.test', 'elsewhere.test'))).toBe(false)
  }

  /** Whether who trusts the authority of this installation is satisfied with what it is shown for the host. */
  function verifies(servername: string): Promise<boolean> {
    const port = Number(new URL(sluice.endpoints.exposure).port)
    const ca = readFileSync(sluice.endpoints.ca)
    return new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, servername, ca }, () => {
        socket.destroy()
        resolve(true)
      })
      socket.on('error', () => resolve(false))
    })
  }
})
