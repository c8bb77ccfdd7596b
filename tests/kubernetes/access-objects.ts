import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { askUntil } from './ask-until.ts'
import type { ContractServer } from './contract-server.ts'

export const rbac = 'rbac.authorization.k8s.io/v1'
export const authorization = '/apis/authorization.k8s.io/v1'
export const authentication = '/apis/authentication.k8s.io/v1'

export const as = (user: string, ...groups: string[]) => ({
  headers: { 'impersonate-user': user, ...(groups[0] !== undefined && { 'impersonate-group': groups[0] }) },
})
export const podReader = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }]
export const user = (name: string) => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name })
export const roleRef = (kind: 'Role' | 'ClusterRole', name: string) => ({
  apiGroup: 'rbac.authorization.k8s.io',
  kind,
  name,
})

/** Gives a role with these rules to the subject, in the test's namespace. */
export async function give(server: ContractServer, name: string, rules: unknown, subject: object): Promise<void> {
  await server.ok('POST', server.path('roles', rbac), { metadata: { name }, rules })
  const binding = { metadata: { name }, roleRef: roleRef('Role', name), subjects: [subject] }
  await server.ok('POST', server.path('rolebindings', rbac), binding)
}

/**
 * The code of an answer, once it is the expected one. The real server learns of roles a moment later and trusts a token
 * it has seen for ten seconds; the embedded one knows at once.
 */
export async function codeSoon(
  server: ContractServer,
  call: () => Promise<{ code: number }>,
  expected: number,
): Promise<number> {
  const { code } = server.isReal ? await askUntil(call, (answer) => answer.code === expected) : await call()
  return code
}

export function kubeconfigOf(server: ContractServer, name: string, credential: object): string {
  const config = JSON.parse(readFileSync(server.address.kubeconfig, 'utf8')) as Record<string, unknown>
  const context = (config['contexts'] as Array<{ context: Record<string, unknown> }>)[0]?.context
  const path = join(server.folder, `${name}.kubeconfig`)
  const mine = {
    ...config,
    users: [{ name, user: credential }],
    contexts: [{ name, context: { ...context, user: name } }],
  }
  writeFileSync(path, JSON.stringify({ ...mine, 'current-context': name }), { mode: 0o600 })
  return path
}
