import { formatKibibytes } from '../../resources/quantity.ts'
import { type Condition, timestamp } from '../../resources/kubernetes-object.ts'
import { type Node, simulatedCardsLabel } from '../../resources/node.ts'
import type { Card } from '../cards/card.ts'
import { type MachineReadings, pressures, reservedMemoryBytes } from '../machine/machine-readings.ts'
import type { NetworkFacts } from '../network/pod-network.ts'
import type { RuntimeFacts } from '../pod-runtime.ts'

export interface MachineFacts {
  readonly name: string
  /** The node's addresses, at most one of each family. */
  readonly addresses: readonly string[]
  readonly cpus: number
  readonly memoryBytes: number
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
  /** Cards that answer. */
  readonly usableCards: readonly Card[]
}

/** `namespaces` or `paths`: how containers are kept apart. */
export const isolationLabel = 'sluice.dev/pod-isolation'

const mostPods = 250

export function nodeLabels(facts: MachineFacts): Record<string, string> {
  const arch = facts.arch === 'x64' ? 'amd64' : facts.arch
  return {
    'kubernetes.io/hostname': facts.name,
    'kubernetes.io/arch': arch,
    'kubernetes.io/os': facts.platform,
    'node-role.kubernetes.io/control-plane': '',
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
    'ephemeral-storage': formatKibibytes(machine.diskBytes),
    pods: String(mostPods),
  }
  const capacity = { ...shared, memory: formatKibibytes(facts.memoryBytes), ...countedCards(facts.cards, facts.cards) }
  const allocatable = {
    ...shared,
    memory: formatKibibytes(facts.memoryBytes - reservedMemoryBytes(facts.memoryBytes)),
    ...countedCards(facts.cards, readings.usableCards),
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
  const lost = cards.filter(({ index }) => !readings.usableCards.some((card) => card.index === index))
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

/** Every kind the machine has, also those of which none is left. */
function countedCards(all: readonly Card[], counted: readonly Card[]): Record<string, string> {
  const kinds = [...new Set(all.map(({ kind }) => kind))]
  return Object.fromEntries(kinds.map((kind) => [kind, String(counted.filter((card) => card.kind === kind).length)]))
}
