import { z } from 'zod'
import type { Container, Pod } from '../../resources/pod.ts'
import { grantedCapabilities } from './capabilities.ts'

/** As whom and with which rights a container's program runs. */
export interface SecurityPlan {
  readonly uid: number
  readonly gid: number
  readonly groups: readonly number[]
  /** All that root, or a file that gives them, can have in it. */
  readonly capabilities: readonly string[]
  readonly noNewPrivileges: boolean
  readonly readOnlyRoot: boolean
  /** Whether system calls are filtered as container runtimes do. */
  readonly filterCalls: boolean
}

/** What is refused, by the field that asks for it. */
export type PlannedSecurity = SecurityPlan | { readonly refused: string }

/** Who the image says runs it. */
export interface ImageUser {
  readonly uid: number
  readonly gid: number
  readonly groups?: readonly number[] | undefined
  /** As it stands there, where it is not a number. */
  readonly name?: string | undefined
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
    supplementalGroups: z.array(id).optional(),
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

/** Joins what the Pod and the container ask for, as the kubelet does. */
export function planSecurity(pod: Pod, container: Container, image: ImageUser): PlannedSecurity {
  const ofPod = podContext.safeParse(pod.spec['securityContext'] ?? {})
  const own = containerContext.safeParse(container['securityContext'] ?? {})
  if (!ofPod.success || !own.success) return { refused: 'securityContext cannot be read' }
  const shared = ofPod.data
  const context = own.data
  if (context.privileged) return { refused: 'securityContext.privileged is not supported on this node' }
  if (context.procMount !== undefined && context.procMount !== 'Default') {
    return { refused: `securityContext.procMount "${context.procMount}" is not supported on this node` }
  }
  const seccomp = context.seccompProfile?.type ?? shared.seccompProfile?.type ?? 'Unconfined'
  if (seccomp === 'Localhost')
    return { refused: 'securityContext.seccompProfile "Localhost" is not supported on this node' }
  const appArmor = context.appArmorProfile?.type ?? shared.appArmorProfile?.type ?? 'Unconfined'
  if (appArmor !== 'Unconfined') {
    return { refused: `securityContext.appArmorProfile "${appArmor}" is not supported on this node` }
  }
  const capabilities = grantedCapabilities(context.capabilities ?? {})
  if ('refused' in capabilities) return { refused: `securityContext.capabilities: ${capabilities.refused}` }
  const asked = context.runAsUser ?? shared.runAsUser
  const refused = rootProblem({ pod, container, asked, image, nonRoot: context.runAsNonRoot ?? shared.runAsNonRoot })
  if (refused !== undefined) return { refused }
  const uid = asked ?? image.uid
  const gid = context.runAsGroup ?? shared.runAsGroup ?? (asked === undefined || asked === image.uid ? image.gid : 0)
  const extra = [...(shared.supplementalGroups ?? []), ...(shared.fsGroup === undefined ? [] : [shared.fsGroup])]
  const ofImage = shared.supplementalGroupsPolicy === 'Strict' || uid !== image.uid ? [] : (image.groups ?? [])
  return {
    uid,
    gid,
    groups: [...new Set([...ofImage, ...extra])],
    capabilities: capabilities.granted,
    noNewPrivileges: context.allowPrivilegeEscalation === false,
    readOnlyRoot: context.readOnlyRootFilesystem === true,
    filterCalls: seccomp === 'RuntimeDefault',
  }
}

/** The group that owns a Pod's volumes, where it asks for one. */
export function volumeGroup(pod: Pod): number | undefined {
  const context = podContext.safeParse(pod.spec['securityContext'] ?? {})
  return context.success ? context.data.fsGroup : undefined
}

/** In the words of the kubelet. */
function rootProblem(facts: {
  readonly pod: Pod
  readonly container: Container
  readonly asked: number | undefined
  readonly image: ImageUser
  readonly nonRoot: boolean | undefined
}): string | undefined {
  const { pod, container, asked, image, nonRoot } = facts
  if (nonRoot !== true) return undefined
  const { name, namespace = 'default', uid = '' } = pod.metadata
  const about = `(pod: "${name}_${namespace}(${uid})", container: ${container.name})`
  if (asked === 0) return `container's runAsUser breaks non-root policy ${about}`
  if (asked !== undefined) return undefined
  if (image.name !== undefined) {
    return `container has runAsNonRoot and image has non-numeric user (${image.name}), cannot verify user is non-root ${about}`
  }
  return image.uid === 0 ? `container has runAsNonRoot and image will run as root ${about}` : undefined
}
