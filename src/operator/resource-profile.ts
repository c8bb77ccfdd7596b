import type { Pod } from '../resources/pod.ts'
import type { WeightsCache } from './weights/weights-cache.ts'

/** What a Pod gets with each card of a profile, and on which nodes it may run. */
export interface ResourceProfile {
  /** The resource that counts the cards; by default the profile's own name. */
  readonly card?: string | undefined
  /** Per card. What is not set here is taken from the engine's own requests. */
  readonly requests?: Quantities | undefined
  readonly limits?: Quantities | undefined
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined
  readonly tolerations?: Tolerations | undefined
  readonly affinity?: Readonly<Record<string, unknown>> | undefined
  readonly priorityClassName?: string | undefined
  readonly schedulerName?: string | undefined
  /** What the nodes' container runtime needs for these cards, such as `nvidia`. */
  readonly runtimeClassName?: string | undefined
  /** The size of /dev/shm instead of the engine's own, or `unlimited`. */
  readonly sharedMemory?: string | undefined
  /** The images of engines that need another one for these cards, by the engine's name. */
  readonly images?: Readonly<Record<string, string>> | undefined
  readonly imagePullSecrets?: readonly string[] | undefined
  readonly weightsCache?: WeightsCache | undefined
}

export type Quantities = Readonly<Record<string, string>>
type Tolerations = ReadonlyArray<Readonly<Record<string, unknown>>>

/** By the name in `spec.resourceProfile`. */
export type ProfileTable = Readonly<Record<string, ResourceProfile>>

/** What is known about profiles at one moment. */
export interface ProfileFacts {
  readonly table: ProfileTable
  /** The kinds of card in the cluster. Each is a profile by itself, and the first is what `default` means. */
  readonly cardKinds: readonly string[]
  /** The most cards of each kind that a node has; undefined while nobody knows the nodes. */
  readonly largestNode?: ReadonlyMap<string, number> | undefined
  /** The cards of each kind, for every node that has some; undefined while nobody knows the nodes. */
  readonly nodeCards?: ReadonlyMap<string, readonly number[]> | undefined
  /** Why Pods of one replica could not work together here, such as `Pods have no names here`. */
  readonly groupsUnavailable?: string | undefined
}

/** Known everywhere; a cluster's operator may extend them or add others. */
export const builtInProfiles: ProfileTable = {
  default: {},
  'nvidia.com/gpu-h800': {},
  'nvidia.com/gpu-l40s': {},
}

export interface ResolvedProfile extends ResourceProfile {
  readonly card: string
}

/** Undefined when the profile is unknown, or when `default` means nothing because there is no card. */
export function resolveProfile(name: string, { table, cardKinds }: ProfileFacts): ResolvedProfile | undefined {
  const entry = Object.hasOwn(table, name) ? table[name] : undefined
  const card = entry?.card ?? (name === 'default' ? cardKinds[0] : name)
  if (card === undefined || (entry === undefined && !cardKinds.includes(name))) return undefined
  return { ...entry, card }
}

export function knownProfiles({ table, cardKinds }: ProfileFacts): string[] {
  return [...new Set(['default', ...[...Object.keys(table), ...cardKinds].sort()])]
}

/** A container's resources: the engine's requests, what the profile gives per card, and the cards themselves. */
export function profileResources(profile: ResolvedProfile, cards: number, engineRequests: Quantities) {
  const limits = timesCards(profile.limits, cards)
  // A limit without a request acts as a request, too; the engine's own could exceed it.
  const unlimited = Object.entries(engineRequests).filter(([resource]) => !(resource in limits))
  const count = { [profile.card]: String(cards) }
  return {
    requests: { ...Object.fromEntries(unlimited), ...timesCards(profile.requests, cards), ...count },
    limits: { ...limits, ...count },
  }
}

/** What a profile says about nodes, as fields of a Pod's spec. */
export function profilePlacement(profile: ResourceProfile): Partial<Pod['spec']> {
  const { nodeSelector, tolerations, affinity, priorityClassName, schedulerName } = profile
  return {
    ...(nodeSelector === undefined ? {} : { nodeSelector: { ...nodeSelector } }),
    ...(tolerations === undefined ? {} : { tolerations: tolerations.map((toleration) => ({ ...toleration })) }),
    ...(affinity === undefined ? {} : { affinity }),
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
    ...(schedulerName === undefined ? {} : { schedulerName }),
  }
}

export function timesCards(quantities: Quantities | undefined, cards: number): Record<string, string> {
  return Object.fromEntries(Object.entries(quantities ?? {}).map(([name, value]) => [name, times(value, cards)]))
}

/** Three times `4Gi` is `12Gi`. */
function times(quantity: string, count: number): string {
  const [, digits = '0', unit = ''] = /^([\d.]+)(.*)$/.exec(quantity) ?? []
  return `${Number((Number(digits) * count).toPrecision(15))}${unit}`
}
