import { type User, anonymous, isMaster, serviceAccountOf } from '../access/identity/user.ts'

export type LevelName = 'system' | 'admin' | 'workload' | 'user' | 'anonymous'

export interface PriorityLevel {
  readonly name: LevelName
  /** Its share of the loop while other levels want it, too. */
  readonly weight: number
  /** How many of its writes may be on their way to the disk at the same time. */
  readonly writes: number
}

/** Each level has places of its own, so that no level can take another's. */
export const priorityLevels: readonly PriorityLevel[] = [
  { name: 'system', weight: 40, writes: 64 },
  { name: 'admin', weight: 40, writes: 64 },
  { name: 'workload', weight: 30, writes: 64 },
  { name: 'user', weight: 20, writes: 64 },
  { name: 'anonymous', weight: 5, writes: 8 },
]

/** Whom a request is charged to: a priority level, and a flow in it. */
export interface Caller {
  readonly level: LevelName
  readonly flow: string
}

interface Classified {
  readonly level: LevelName
  readonly name: string
  readonly isAccount: boolean
}

const nodesGroup = 'system:nodes'
const known = new WeakMap<User, Classified>()

/**
 * A flow is a user in a namespace. All service accounts of a namespace are one flow: a namespace can create as many
 * accounts as it likes, and must not gain by it.
 */
export function callerOf(user: User, cluster: string, namespace: string | undefined): Caller {
  let classified = known.get(user)
  if (!classified) known.set(user, (classified = classify(user)))
  const { level, name, isAccount } = classified
  return { level, flow: isAccount ? `${cluster} ${name}` : `${cluster} ${name} ${namespace ?? ''}` }
}

function classify(user: User): Classified {
  const account = serviceAccountOf(user.name)
  if (account) {
    const level = account.namespace === 'kube-system' ? 'system' : 'workload'
    return { level, name: account.namespace, isAccount: true }
  }
  return { level: levelOf(user), name: user.name, isAccount: false }
}

function levelOf(user: User): LevelName {
  if (user.name === anonymous.name) return 'anonymous'
  if (isMaster(user)) return 'admin'
  return user.name.startsWith('system:') || user.groups.includes(nodesGroup) ? 'system' : 'user'
}
