import type { ClusterClient } from '../../src/cluster/cluster-client.ts'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { customKinds } from '../../src/resources/all-kinds.ts'
import { customResourceDefinition } from '../../src/resources/custom-resource-definition.ts'
import { askUntil } from './ask-until.ts'
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
  const list = () =>
    client.list(kind).then(
      () => 'served',
      (failure: unknown) => String(failure),
    )
  await askUntil(list, (answer) => answer === 'served')
}
