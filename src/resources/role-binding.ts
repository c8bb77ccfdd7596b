import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import type { Column } from './kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { rbacGroup } from './role.ts'
import { checkBinding } from './validation/rbac-rules.ts'

export const subjectSchema = z.looseObject({
  kind: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
  apiGroup: z.string().optional(),
})

export type Subject = z.infer<typeof subjectSchema>

const roleRefSchema = z.looseObject({ apiGroup: z.string(), kind: z.string(), name: z.string() })

export const roleBindingSchema = z.looseObject({
  apiVersion: z.literal('rbac.authorization.k8s.io/v1'),
  kind: z.literal('RoleBinding'),
  metadata: objectMetaSchema,
  subjects: z.array(subjectSchema).optional(),
  roleRef: roleRefSchema,
})

export type RoleBinding = z.infer<typeof roleBindingSchema>

export const clusterRoleBindingSchema = z.looseObject({
  apiVersion: z.literal('rbac.authorization.k8s.io/v1'),
  kind: z.literal('ClusterRoleBinding'),
  metadata: objectMetaSchema,
  subjects: z.array(subjectSchema).optional(),
  roleRef: roleRefSchema,
})

export type ClusterRoleBinding = z.infer<typeof clusterRoleBindingSchema>

const columns: ReadonlyArray<Column<RoleBinding | ClusterRoleBinding>> = [
  { name: 'Role', type: 'string', cell: ({ roleRef }) => `${roleRef.kind}/${roleRef.name}` },
  coreAgeColumn,
  { name: 'Users', type: 'string', priority: 1, cell: ({ subjects }) => namesOf(subjects, 'User') },
  { name: 'Groups', type: 'string', priority: 1, cell: ({ subjects }) => namesOf(subjects, 'Group') },
  { name: 'ServiceAccounts', type: 'string', priority: 1, cell: ({ subjects }) => namesOf(subjects, 'ServiceAccount') },
]

export const roleBindingKind = coreKind(roleBindingSchema, {
  group: rbacGroup,
  kind: 'RoleBinding',
  plural: 'rolebindings',
  validate: (binding) => checkBinding(binding, true),
  columns,
})

export const clusterRoleBindingKind = coreKind(clusterRoleBindingSchema, {
  group: rbacGroup,
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  validate: (binding) => checkBinding(binding, false),
  namespaced: false,
  columns,
})

function namesOf(subjects: readonly Subject[] | undefined, kind: string): string {
  return (subjects ?? [])
    .filter((subject) => subject.kind === kind)
    .map(({ name, namespace }) => (kind === 'ServiceAccount' ? `${namespace ?? ''}/${name}` : name))
    .join(', ')
}
