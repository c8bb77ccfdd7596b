import type { Model } from '../../resources/model.ts'
import { type Node, isNodeReady } from '../../resources/node.ts'
import type { Pod } from '../../resources/pod.ts'
import { printable } from '../output/print-output.ts'

/** What `sluice status` says. */
export interface ClusterHealth {
  readonly running: boolean
  readonly cluster: string
  readonly pid?: number | undefined
  readonly addresses: Readonly<Record<string, string>>
  /** Which of its doors answer, and with what. */
  readonly health: Readonly<Record<string, string>>
  readonly nodes: { readonly ready: number; readonly all: number }
  readonly models: { readonly awake: number; readonly all: number }
  /** What somebody should look at; empty where all is well. */
  readonly attention: readonly string[]
}

/** A container that was restarted so often does not do so by chance. */
const worrisomeRestarts = 3

/** What needs somebody's attention in a cluster. */
export function attentionIn(objects: {
  readonly models: readonly Model[]
  readonly pods: readonly Pod[]
  readonly nodes: readonly Node[]
}): string[] {
  const { models, pods, nodes } = objects
  return [
    ...(nodes.length === 0 ? ['There is no node, so that nothing can run.'] : []),
    ...nodes
      .filter((node) => !isNodeReady(node))
      .map(
        ({ metadata }) =>
          `The node ${metadata.name} is not ready: \`kubectl describe node ${metadata.name}\` says why.`,
      ),
    ...models.flatMap((model) => complaintOf(model) ?? []),
    ...pods.flatMap((pod) => restartsOf(pod) ?? []),
  ]
}

function complaintOf({ metadata: { name }, status }: Model): string | undefined {
  if (status?.phase === 'Failed') return printable(`The model ${name} cannot start: ${status.message ?? ''}`)
  if (status?.loading?.stalled === true) return `The model ${name} loads, but nothing has moved for a while.`
  return undefined
}

function restartsOf({ metadata: { name }, status }: Pod): string | undefined {
  const restarts = Math.max(0, ...(status?.containerStatuses ?? []).map(({ restartCount }) => restartCount))
  if (restarts < worrisomeRestarts) return undefined
  return `The Pod ${name} was restarted ${restarts} times: \`sluice logs ${name} --previous\` shows its end.`
}

/** The same for people. */
export function healthLines(health: ClusterHealth): string[] {
  const { cluster, pid, addresses, nodes, models, attention } = health
  const state = health.running ? (attention.length === 0 ? 'running' : 'running, needs attention') : 'not running'
  const facts: Record<string, string> = {
    Sluice: pid === undefined ? state : `${state} (process ${pid})`,
    Cluster: cluster,
    ...addresses,
    ...(health.running
      ? { Nodes: `${nodes.ready} of ${nodes.all} ready`, Models: `${models.awake} of ${models.all} awake` }
      : {}),
  }
  const width = Math.max(...Object.keys(facts).map((name) => name.length))
  const answers = Object.entries(health.health).filter(([, answer]) => answer !== 'ok')
  return [
    ...Object.entries(facts).map(([name, text]) => `${name.padEnd(width)}  ${text}`),
    ...(answers.length + attention.length > 0 ? ['', 'Needs attention:'] : []),
    ...answers.map(([name, answer]) => `- ${name}: ${answer}`),
    ...attention.map((sentence) => `- ${sentence}`),
  ]
}
