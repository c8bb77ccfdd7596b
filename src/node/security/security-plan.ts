import { z } from 'zod'
import type { Container, Pod } from '../../resources/pod.ts'
import { grantedCapabilities } from './capabilities.ts'

/** The user and rights of a container's program. */
export interface SecurityPlan {
  readonly uid: number
  readonly gid: number
  readonly groups: readonly number[]
  /** The most capabilities that root, or a file with capabilities, can have in it. */
  readonly capabilities: readonly string[]
  readonly noNewPrivileges: boolean
  readonly readOnlyRoot: boolean
  /** Whether system calls are filtered, as container runtimes do by default. */
  readonly filterCalls: boolean
}

/** The plan, or a sentence naming the field that cannot be granted. */
export type PlannedSecurity = SecurityPlan | { readonly refused: string }

/** A user as a container's files define it. */
export interface KnownUser {
  readonly uid: number
  readonly gid: number
  readonly groups: readonly number[]
}

/** The user that an image is run as, and the users in its files. */
export interface ImageUsers {
  /** The user in the image's configuration; empty for root. */
  readonly configured: string
  /** Finds a user by name or number, with or without a group. */
  find(user: string): KnownUser | undefined
}

/** What this node is able to grant. */
export interface NodePowers {
  /** Whether containers have their own namespaces. */
  readonly isolated: boolean
  /** Whether this program runs as an ordinary user: then containers have a single user and group. */
  readonly asUser: boolean
  /** The container has a network of its own, over which rights of its own hold. */
  readonly ownNetwork: boolean
  /** The user and group of this program. */
  readonly uid: number
  readonly gid: number
}

const id = z
  .int()
  .min(0)
  .max(2 ** 31 - 1)
const sharedFields = {
  runAsUser: id.optional(),
  runAsGroup: id.optional(),
  runAsNonRoot: z.boolean().optional(),
  seccompProfile: z.object({ type: z.string() }).optional(),
  appArmorProfile: z.object({ type: z.string() }).optional(),
}
const podContext = z
  .object({
    ...sharedFields,
    fsGroup: id.optional(),
    fsGroupChangePolicy: z.string().optional(),
    supplementalGroups: z.array(id).max(65_536).optional(),
    supplementalGroupsPolicy: z.string().optional(),
  })
  .default({})
const containerContext = z
  .object({
    ...sharedFields,
    privileged: z.boolean().optional(),
    allowPrivilegeEscalation: z.boolean().optional(),
    readOnlyRootFilesystem: z.boolean().optional(),
    procMount: z.string().optional(),
    capabilities: z.object({ add: z.array(z.string()).optional(), drop: z.array(z.string()).optional() }).optional(),
  })
  .default({})

type PodContext = z.infer<typeof podContext>
type ContainerContext = z.infer<typeof containerContext>

/**
 * Combines the security contexts of Pod and container as the kubelet does. What cannot be granted is refused, never
 * ignored.
 */
export function planSecurity(pod: Pod, container: Container, image: ImageUsers, powers: NodePowers): PlannedSecurity {
  const ofPod = podContext.safeParse(pod.spec['securityContext'] ?? {})
  const own = containerContext.safeParse(container['securityContext'] ?? {})
  if (!ofPod.success || !own.success) return { refused: 'securityContext cannot be read' }
  const [shared, context] = [ofPod.data, own.data]
  const unsupported =
    unsupportedField(shared, context) ?? (powers.isolated ? undefined : needsNamespaces(shared, context))
  if (unsupported !== undefined) return { refused: `${unsupported} is not supported on this node` }
  const capabilities = grantedCapabilities(context.capabilities ?? {}, powers.ownNetwork)
  if ('refused' in capabilities) return { refused: `securityContext.capabilities: ${capabilities.refused}` }

  const asked = context.runAsUser ?? shared.runAsUser
  const ofImage = powers.isolated ? image.find(image.configured) : { uid: powers.uid, gid: powers.gid, groups: [] }
  if (asked === undefined && !ofImage)
    return { refused: `the image has no user "${image.configured}", which it is to run as` }
  const refused = rootProblem({
    pod,
    container,
    asked,
    uid: ofImage?.uid ?? 0,
    configured: powers.isolated ? image.configured : '',
    nonRoot: context.runAsNonRoot ?? shared.runAsNonRoot,
  })
  if (refused !== undefined) return { refused }
  const found = asked === undefined ? ofImage : powers.isolated ? image.find(String(asked)) : ofImage
  const uid = asked ?? found?.uid ?? 0
  const gid = context.runAsGroup ?? shared.runAsGroup ?? found?.gid ?? 0
  const extra = [...(shared.supplementalGroups ?? []), ...(shared.fsGroup === undefined ? [] : [shared.fsGroup])]
  const ofUser = shared.supplementalGroupsPolicy === 'Strict' || powers.asUser ? [] : (found?.groups ?? [])
  if (powers.asUser && extra.some((group) => group !== gid)) {
    const field = shared.supplementalGroups?.some((group) => group !== gid) ? 'supplementalGroups' : 'fsGroup'
    return {
      refused: `securityContext.${field} is not supported on this node, which does not run as root: a container has one group there`,
    }
  }
  return {
    uid,
    gid,
    groups: powers.asUser ? [] : [...new Set([...ofUser, ...extra])],
    capabilities: capabilities.granted,
    noNewPrivileges: context.allowPrivilegeEscalation === false,
    readOnlyRoot: context.readOnlyRootFilesystem === true,
    // Also by default: with a user namespace of its own, root in a container could reach the machine's cgroups.
    filterCalls: powers.isolated && (seccompType(shared, context) ?? 'RuntimeDefault') === 'RuntimeDefault',
  }
}

/** The group for the Pod's volumes (fsGroup), and whether volumes that already have it are left alone. */
export function volumeGroup(pod: Pod): { readonly gid: number; readonly onlyOnMismatch: boolean } | undefined {
  const context = podContext.safeParse(pod.spec['securityContext'] ?? {})
  if (!context.success || context.data.fsGroup === undefined) return undefined
  return { gid: context.data.fsGroup, onlyOnMismatch: context.data.fsGroupChangePolicy === 'OnRootMismatch' }
}

function unsupportedField(shared: PodContext, context: ContainerContext): string | undefined {
  if (context.privileged) return 'securityContext.privileged'
  if (context.procMount !== undefined && context.procMount !== 'Default') {
    return `securityContext.procMount "${context.procMount}"`
  }
  if (seccompType(shared, context) === 'Localhost') return 'securityContext.seccompProfile "Localhost"'
  const appArmor = context.appArmorProfile?.type ?? shared.appArmorProfile?.type ?? 'Unconfined'
  return appArmor === 'Unconfined' ? undefined : `securityContext.appArmorProfile "${appArmor}"`
}

/** What cannot be granted without namespaces. */
function needsNamespaces(shared: PodContext, context: ContainerContext): string | undefined {
  const asks: Readonly<Record<string, boolean>> = {
    runAsUser: (context.runAsUser ?? shared.runAsUser) !== undefined,
    runAsGroup: (context.runAsGroup ?? shared.runAsGroup) !== undefined,
    supplementalGroups: (shared.supplementalGroups ?? []).length > 0,
    fsGroup: shared.fsGroup !== undefined,
    capabilities: [...(context.capabilities?.add ?? []), ...(context.capabilities?.drop ?? [])].length > 0,
    allowPrivilegeEscalation: context.allowPrivilegeEscalation === false,
    readOnlyRootFilesystem: context.readOnlyRootFilesystem === true,
    seccompProfile: seccompType(shared, context) === 'RuntimeDefault',
  }
  const field = Object.keys(asks).find((name) => asks[name])
  return field === undefined ? undefined : `securityContext.${field} needs namespaces, and`
}

function seccompType(shared: PodContext, context: ContainerContext): string | undefined {
  return context.seccompProfile?.type ?? shared.seccompProfile?.type
}

/** The kubelet's wording. */
function rootProblem(facts: {
  readonly pod: Pod
  readonly container: Container
  readonly asked: number | undefined
  readonly uid: number
  readonly configured: string
  readonly nonRoot: boolean | undefined
}): string | undefined {
  const { pod, container, asked, uid, configured, nonRoot } = facts
  if (nonRoot !== true) return undefined
  const { name, namespace = 'default', uid: podUid = '' } = pod.metadata
  const about = `(pod: "${name}_${namespace}(${podUid})", container: ${container.name})`
  if (asked === 0) return `container's runAsUser breaks non-root policy ${about}`
  if (asked !== undefined) return undefined
  const [user = ''] = configured.split(':')
  if (user !== '' && !/^\d+$/.test(user)) {
    return `container has runAsNonRoot and image has non-numeric user (${user}), cannot verify user is non-root ${about}`
  }
  return uid === 0 ? `container has runAsNonRoot and image will run as root ${about}` : undefined
}
