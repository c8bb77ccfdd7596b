import { setTimeout as delay } from 'node:timers/promises'
import type { ClusterClient } from '../../src/cluster/cluster-client.ts'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { customKinds } from '../../src/resources/all-kinds.ts'
import { customResourceDefinition } from '../../src/resources/custom-resource-definition.ts'
import { customResourceDefinitionKind } from './custom-resource-definition-kind.ts'

/** Brings our kinds to a real API server, as the Helm chart does, and waits until it serves them. */
export async function serveOurKinds(kubeconfig: string): Promise<void> {
  const client = await connectKubernetes(kubeconfig)
  try {
    for (const kind of customKinds) {
      const { metadata, ...definition } = customResourceDefinition(kind)
      const { name } = metadata as { name: string }
      await client.create(customResourceDefinitionKind, { ...definition, metadata: { name } })
    }
    for (const kind of customKinds) await untilServed(client, kind)
  } finally {
    client.close()
  }
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
