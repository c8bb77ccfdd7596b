import { setTimeout as delay } from 'node:timers/promises'
import { describe } from 'vitest'
import { type ClusterUnderTest, clusterClientContract } from '../../src/cluster/cluster-client.contract.ts'
import type { ClusterClient } from '../../src/cluster/cluster-client.ts'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { customKinds } from '../../src/resources/all-kinds.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { customResourceDefinition } from '../../src/resources/custom-resource-definition.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { customResourceDefinitionKind } from './custom-resource-definition-kind.ts'
import { startEmbeddedControlPlane } from './embedded-control-plane.ts'
import { missingControlPlane, startRealControlPlane } from './real-control-plane.ts'

const missing = missingControlPlane()

describe.skipIf(missing)(`KubernetesClient with a real kube-apiserver${missing ? ` (${missing})` : ''}`, () => {
  clusterClientContract(startReal)
})

describe('KubernetesClient with the embedded API server', () => {
  clusterClientContract(startEmbedded)
})

const historyLimit = 100

async function startEmbedded(): Promise<ClusterUnderTest> {
  const plane = await startEmbeddedControlPlane(historyLimit)
  const client = await connectKubernetes(plane.kubeconfig)
  await client.create(namespaceKind, { metadata: { name: 'default' } })
  return {
    client,
    async expiredVersion() {
      const metadata = { generateName: 'old-', namespace: 'default' }
      for (let count = 0; count <= historyLimit * 2; count += 1) await client.create(configMapKind, { metadata })
      return '1'
    },
    async stop() {
      client.close()
      await plane.stop()
    },
  }
}

async function startReal(): Promise<ClusterUnderTest> {
  const plane = await startRealControlPlane()
  try {
    const client = await connectKubernetes(plane.kubeconfig)
    for (const kind of customKinds)
      await client.create(customResourceDefinitionKind, asNew(customResourceDefinition(kind)))
    for (const kind of customKinds) await untilServed(client, kind)
    return {
      client,
      // From before Models were served: older than anything the server's watch cache of them has.
      expiredVersion: async () => '1',
      async stop() {
        client.close()
        await plane.stop()
      },
    }
  } catch (error) {
    await plane.stop()
    throw error
  }
}

function asNew(definition: Record<string, unknown>) {
  return { ...definition, metadata: { ...(definition['metadata'] as { name: string }) } }
}

async function untilServed(client: ClusterClient, kind: (typeof customKinds)[number]): Promise<void> {
  const deadline = Date.now() + 30_000
  for (;;) {
    const error: unknown = await client.list(kind).then(
      () => undefined,
      (failure: unknown) => failure,
    )
    if (error === undefined) return
    if (Date.now() > deadline) throw error
    await delay(50)
  }
}
