import { formatKibibytes } from '../resources/quantity.ts'
import { timestamp } from '../resources/kubernetes-object.ts'
import type { Node } from '../resources/node.ts'
import type { Card } from './gpu-inventory.ts'

export interface MachineFacts {
  readonly name: string
  readonly address: string
  readonly cpus: number
  readonly memoryBytes: number
  readonly arch: string
  readonly platform: string
  readonly kernelVersion: string
  readonly version: string
  readonly cards: readonly Card[]
}

export const simulatedCardsLabel = 'sluice.dev/simulated-cards'

const mostPods = 250

export function nodeLabels(facts: MachineFacts): Record<string, string> {
  const arch = facts.arch === 'x64' ? 'amd64' : facts.arch
  return {
    'kubernetes.io/hostname': facts.name,
    'kubernetes.io/arch': arch,
    'kubernetes.io/os': facts.platform,
    'node-role.kubernetes.io/control-plane': '',
    ...(facts.cards.some(({ simulated }) => simulated) && { [simulatedCardsLabel]: 'true' }),
  }
}

/** The Node's status: what the machine has, and that its agent is (or is not) there. */
export function nodeStatus(
  facts: MachineFacts,
  ready: boolean,
  previous: Node['status'],
  now: number,
): NonNullable<Node['status']> {
  const cards = new Map<string, number>()
  for (const { kind } of facts.cards) cards.set(kind, (cards.get(kind) ?? 0) + 1)
  const capacity = {
    cpu: String(facts.cpus),
    memory: formatKibibytes(facts.memoryBytes),
    pods: String(mostPods),
    ...Object.fromEntries([...cards].map(([kind, count]) => [kind, String(count)])),
  }
  const status = ready ? 'True' : 'False'
  const before = previous?.conditions?.find(({ type }) => type === 'Ready')
  const condition = {
    type: 'Ready',
    status,
    reason: ready ? 'KubeletReady' : 'NodeStopped',
    message: ready ? 'The node runs Pods as processes of this machine.' : 'The node was stopped.',
    lastHeartbeatTime: timestamp(now),
    lastTransitionTime: before?.status === status ? (before.lastTransitionTime ?? timestamp(now)) : timestamp(now),
  } as const
  return {
    capacity,
    allocatable: capacity,
    conditions: [condition],
    addresses: [
      { type: 'InternalIP', address: facts.address },
      { type: 'Hostname', address: facts.name },
    ],
    nodeInfo: {
      kubeletVersion: `v1.34.0+sluice.${facts.version}`,
      architecture: facts.arch === 'x64' ? 'amd64' : facts.arch,
      operatingSystem: facts.platform,
      osImage: 'this machine',
      kernelVersion: facts.kernelVersion,
      containerRuntimeVersion: `process://${facts.version}`,
    },
  }
}
