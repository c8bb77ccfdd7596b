export interface User {
  readonly name: string
  readonly uid?: string | undefined
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}

export const mastersGroup = 'system:masters'
export const authenticatedGroup = 'system:authenticated'
const unauthenticatedGroup = 'system:unauthenticated'

/** The user of requests without a credential. What it may see is decided by roles, as for everybody. */
export const anonymous: User = { name: 'system:anonymous', groups: [unauthenticatedGroup] }

/** A user whose credential was accepted, with the group of all authenticated users added at the end. */
export function authenticated(user: User): User {
  if (user.groups.includes(authenticatedGroup) || user.groups.includes(unauthenticatedGroup)) return user
  return { ...user, groups: [...user.groups, authenticatedGroup] }
}

export function isMaster(user: User): boolean {
  return user.groups.includes(mastersGroup)
}

export function serviceAccountUserName(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`
}

export function serviceAccountGroups(namespace: string): string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
}

/** The service account that a user name stands for, if it does. */
export function serviceAccountOf(userName: string): { namespace: string; name: string } | undefined {
  const [system, kind, namespace, name, ...rest] = userName.split(':')
  if (system !== 'system' || kind !== 'serviceaccount' || !namespace || !name || rest.length > 0) return undefined
  return { namespace, name }
}

/** The `userInfo` of reviews. */
export function userInfo({ name, uid, groups, extra }: User): Record<string, unknown> {
  return {
    username: name,
    ...(uid !== undefined && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(extra && Object.keys(extra).length > 0 && { extra }),
  }
}
