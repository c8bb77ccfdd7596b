import { gatewayNamespace } from '../../resources/model-labels.ts'
import { usageRecordKind } from '../../resources/usage-record.ts'
import { type UsageQuestion, type UsageSummary, summarizeUsage } from '../../resources/usage-summary.ts'
import { CommandedCluster, type KubeconfigChoice } from '../commanded-cluster.ts'

/** What the Models of a cluster were used for, by its kubeconfig. */
export async function connectUsage(kubeconfig: KubeconfigChoice) {
  const cluster = await CommandedCluster.connect(kubeconfig)
  return {
    async summarize(question: UsageQuestion, signal: AbortSignal): Promise<UsageSummary> {
      const scope = { namespace: gatewayNamespace }
      const { items } = await cluster.ask((client) => client.list(usageRecordKind, scope, signal))
      return summarizeUsage(items, question)
    },
    close: () => cluster.close(),
  }
}
