import { type ClusterUnderTest, ContractStage } from './contract-stage.contract.ts'
import { modelRulesContract } from './model-rules.contract.ts'
import { objectVerbsContract } from './object-verbs.contract.ts'
import { watchContract } from './watch.contract.ts'

export type { ClusterUnderTest }

/** What every ClusterClient does, whichever cluster is behind it. */
export function clusterClientContract(start: () => Promise<ClusterUnderTest>): void {
  const stage = new ContractStage(start)
  objectVerbsContract(stage)
  watchContract(stage)
  modelRulesContract(stage)
}
