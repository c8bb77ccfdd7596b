import { formatKibibytes } from '../../resources/quantity.ts'
import { type Condition, timestamp } from '../../resources/kubernetes-object.ts'
import { type Node, simulatedCardsLabel } from '../../resources/node.ts'
import type { Card } from '../cards/card.ts'
import { type MachineReadings, pressures } from '../machine/machine-readings.ts'
import type { NetworkFacts } from '../network/pod-network.ts'
import type { RuntimeFacts } from '../pod-runtime.ts'

export interface MachineFacts {
  readonly name: string
  /** How many nodes the machine is, each with an equal part; one, unless it is said. */
  readonly parts?: number | undefined
  /** The name of the first of them, if this is another one. */
  readonly partOf?: string | undefined
  /** The node's addresses, at most one of each family. */
  readonly addresses: readonly string[]
  readonly cpus: number
  readonly memoryBytes: number
  /** What Pods may have of it; the rest is the machine's own. */
  readonly allocatableMemoryBytes: number
  readonly arch: string
  readonly platform: string
  readonly kernelVersion: string
  readonly version: string
  readonly cards: readonly Card[]
  readonly runtime: RuntimeFacts
  readonly network: NetworkFacts
}

/** What changes while the node runs. */
export interface NodeReadings {
  readonly machine: MachineReadings
  /** Cards that do not answer. */
  readonly lostCards: readonly Card[]
  /** How many of each kind Pods can have. */
  readonly allocatableCards: Readonly<Record<string, number>>
}

/** `namespaces` or `paths`: how containers are kept apart. */
export const isolationLabel = 'sluice.dev/pod-isolation'

/** On a node that is one of several on its machine: the name of the first. */
export const partOfLabel = 'sluice.dev/part-of'

const mostPods = 250

export function nodeLabels(facts: MachineFacts): Record<string, string> {
  const arch = facts.arch === 'x64' ? 'amd64' : facts.arch
  return {
    'kubernetes.io/hostname': facts.name,
    'kubernetes.io/arch': arch,
    'kubernetes.io/os': facts.platform,
    ...(facts.partOf === undefined ? { 'node-role.kubernetes.io/control-plane': '' } : { [partOfLabel]: facts.partOf }),
    'node-role.kubernetes.io/worker': '',
    [isolationLabel]: facts.runtime.namespaces ? 'namespaces' : 'paths',
    ...(facts.cards.some(({ simulated }) => simulated) && { [simulatedCardsLabel]: 'true' }),
  }
}

/** The Node's status: what the machine has and has left, and that its agent is (or is not) there. */
export function nodeStatus(
  facts: MachineFacts,
  ready: boolean,
  readings: NodeReadings,
  previous: Node['status'],
  now: number,
): NonNullable<Node['status']> {
  const { machine } = readings
  const shared = {
    cpu: String(facts.cpus),
    'ephemeral-storage': formatKibibytes(Math.floor(machine.diskBytes / (facts.parts ?? 1))),
    pods: String(mostPods),
  }
  const capacity = { ...shared, memory: formatKibibytes(facts.memoryBytes), ...counted(countOf(facts.cards)) }
  const allocatable = {
    ...shared,
    memory: formatKibibytes(facts.allocatableMemoryBytes),
    ...counted(readings.allocatableCards),
  }
  return {
    capacity,
    allocatable,
    conditions: nodeConditions(facts, ready, readings).map((condition) => {
      const before = previous?.conditions?.find(({ type }) => type === condition.type)
      const lastTransitionTime =
        before?.status === condition.status ? (before.lastTransitionTime ?? timestamp(now)) : timestamp(now)
      return { ...condition, lastHeartbeatTime: timestamp(now), lastTransitionTime }
    }),
    addresses: [
      ...facts.addresses.map((address) => ({ type: 'InternalIP', address })),
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

type NodeCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

function nodeConditions(
  { cards, runtime, network }: MachineFacts,
  ready: boolean,
  readings: NodeReadings,
): NodeCondition[] {
  const pressed = pressures(readings.machine).map(({ type, pressed: isPressed, message }): NodeCondition => {
    const thing = type.replace('Pressure', '')
    const reason = isPressed
      ? `NodeHas${type}`
      : thing === 'Disk'
        ? 'NodeHasNoDiskPressure'
        : `NodeHasSufficient${thing}`
    return { type, status: isPressed ? 'True' : 'False', reason, message: `${message}.` }
  })
  const lost = readings.lostCards
  const lostCards: NodeCondition[] =
    cards.some(({ simulated }) => !simulated) || lost.length > 0
      ? [
          {
            type: 'CardsLost',
            status: lost.length > 0 ? 'True' : 'False',
            reason: lost.length > 0 ? 'CardsDoNotAnswer' : 'AllCardsAnswer',
            message:
              lost.length > 0
                ? `Cards ${lost.map(({ index }) => index).join(', ')} do not answer.`
                : 'All cards answer.',
          },
        ]
      : []
  return [
    ...pressed,
    ...lostCards,
    {
      type: 'PodsIsolated',
      status: runtime.namespaces ? 'True' : 'False',
      reason: runtime.namespaces ? 'Namespaces' : 'PathsReplaced',
      message: runtime.isolationMessage,
    },
    {
      type: 'PodNetworks',
      status: network.ownNetworks ? 'True' : 'False',
      reason: network.ownNetworks ? 'Namespaces' : 'SharedLoopback',
      message: network.message,
    },
    {
      type: 'NetworkPoliciesEnforced',
      status: network.rulesInForce ? 'True' : 'False',
      reason: network.rulesInForce ? 'PacketFilter' : 'NoPacketFilter',
      message: network.rulesMessage,
    },
    {
      type: 'LimitsEnforced',
      status: runtime.limitsEnforced ? 'True' : 'False',
      reason: runtime.limitsEnforced ? 'Cgroups' : 'NoCgroups',
      message: runtime.limitsMessage,
    },
    {
      type: 'Ready',
      status: ready ? 'True' : 'False',
      reason: ready ? 'KubeletReady' : 'NodeStopped',
      message: ready ? 'The node runs Pods as processes of this machine.' : 'The node was stopped.',
    },
  ]
}

function countOf(cards: readonly Card[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { kind } of cards) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

/** Every kind the machine has, also those of which none is left. */
function counted(counts: Readonly<Record<string, number>>): Record<string, string> {
  return Object.fromEntries(Object.entries(counts).map(([kind, count]) => [kind, String(count)]))
}
