import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { controllerLease } from '../../src/platform/roles/model-lease.ts'
import { gatewayNamespace } from '../../src/resources/model-labels.ts'
import { type Model, modelKind } from '../../src/resources/model.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { until } from '../support/sluice-process.ts'
import { type AskedRequest, askedRequests } from './audit-lines.ts'
import { createCardNode } from './pod-player.ts'
import { type ControlPlane, startRealControlPlane } from './real-control-plane.ts'
import { RoleProcess } from './role-process.ts'
import { serveOurKinds } from './serve-our-kinds.ts'

const models = 1_000
const minutes = (count: number) => count * 60_000
const missing =
  inject('missingServer') ?? (inject('contractServers')[0]?.name === 'real' ? undefined : 'only about a real server')
/** What is allowed besides the lease: watches are begun anew every five to ten minutes. */
const handful = 10

const isRenewal = ({ verb, resource, name }: AskedRequest) =>
  verb === 'update' && resource === 'leases' && name === controllerLease.name

describe.skipIf(missing !== undefined)(`a cluster with ${models} Models that nobody asks (${missing ?? ''})`, () => {
  let plane: ControlPlane
  let client: KubernetesClient
  const roles: RoleProcess[] = []
  const asked = () => askedRequests(plane.auditLog ?? '').filter(({ user }) => user === 'admin')

  beforeAll(async () => {
    plane = await startRealControlPlane({ audited: 'everything' })
    await serveOurKinds(plane.kubeconfig)
    client = await connectKubernetes(plane.kubeconfig)
    await client.create(namespaceKind, { metadata: { name: gatewayNamespace } })
    await createCardNode(client, 'gpu-1')
    await createModels(client)
    const start = (role: string, flags: string[] = []) => RoleProcess.start(role, plane.kubeconfig, flags)
    const ports = ['--gateway-port', '0', '--demand-port', '0']
    // The first start after a change of the program compiles it, which takes memory that later ones do not.
    for (const role of [await start('controller'), await start('gateway', ports)]) await role.stop()
    roles.push(await start('controller'), await start('gateway', ports))
  }, minutes(5))
  afterAll(async () => {
    for (const role of roles) await role.stop()
    client?.close()
    await plane?.stop()
  }, minutes(1))

  it(
    'is written to by nobody but the holder of the lease, and asked next to nothing',
    async () => {
      const isAsleep = ({ status }: Model) => status?.phase === 'Asleep'
      await until('all Models to have a status', minutes(2), async () =>
        (await client.list(modelKind, { namespace: gatewayNamespace })).items.every(isAsleep),
      )
      // Our own questions end here; what is late because of the start is done within a few renewals.
      const renewals = () => asked().filter(isRenewal).length
      const begin = renewals() + 5
      await until('the lease to be renewed', minutes(1), () => renewals() >= begin)
      const from = asked().length
      // A renewal is due every two seconds and a bit, so these take a minute.
      await until('a minute of renewals', minutes(3), () => renewals() >= begin + 27)
      const others = asked()
        .slice(from)
        .filter((request) => !isRenewal(request))
      const writes = others.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))
      expect(writes).toEqual([])
      expect(others.slice(handful)).toEqual([])
    },
    minutes(6),
  )

  it(
    'takes little memory',
    async () => {
      const [controller, gateway] = roles
      // Garbage comes and goes; what stays is the least that is seen.
      const patience = { timeout: minutes(1) }
      await expect.poll(() => controller?.residentMib, patience).toBeLessThanOrEqual(150)
      await expect.poll(() => gateway?.residentMib, patience).toBeLessThanOrEqual(120)
    },
    minutes(3),
  )
})

async function createModels(client: KubernetesClient): Promise<void> {
  let next = 0
  const createSome = async () => {
    while (next < models) {
      const name = `model-${(next += 1)}`
      const spec = { url: `pvc://userdata/models/${name}`, engine: 'VLLM', resourceProfile: 'nvidia.com/gpu-l40s:1' }
      await client.create(modelKind, { metadata: { name, namespace: gatewayNamespace }, spec })
    }
  }
  await Promise.all(Array.from({ length: 16 }, createSome))
}
