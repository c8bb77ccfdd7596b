import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import type { JsonObject } from './json-value.ts'
import type { Column } from './kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { rbacGroup } from './role.ts'
import { type TypeRules, missing } from './type-rules.ts'
import { fixed } from './update-rules.ts'
import { checkPathSegment } from './validation/name-syntax.ts'
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

const types: TypeRules = {
  'io.k8s.api.rbac.v1.RoleBinding': { parts: ['roleRef'] },
  'io.k8s.api.rbac.v1.ClusterRoleBinding': { parts: ['roleRef'] },
  'io.k8s.api.rbac.v1.RoleRef': { complete: missing({ apiGroup: rbacGroup }) },
  'io.k8s.api.rbac.v1.Subject': { complete: completeSubject },
}
const immutable = [fixed('roleRef', 'cannot change roleRef')]

export const roleBindingKind = coreKind(roleBindingSchema, {
  group: rbacGroup,
  kind: 'RoleBinding',
  plural: 'rolebindings',
  validate: (binding) => checkBinding(binding, true),
  checkName: checkPathSegment,
  types,
  immutable,
  columns,
})

export const clusterRoleBindingKind = coreKind(clusterRoleBindingSchema, {
  group: rbacGroup,
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  validate: (binding) => checkBinding(binding, false),
  checkName: checkPathSegment,
  types,
  immutable,
  namespaced: false,
  columns,
})

function namesOf(subjects: readonly Subject[] | undefined, kind: string): string {
  return (subjects ?? [])
    .filter((subject) => subject.kind === kind)
    .map(({ name, namespace }) => (kind === 'ServiceAccount' ? `${namespace ?? ''}/${name}` : name))
    .join(', ')
}

function completeSubject(subject: JsonObject): JsonObject {
  const isNamed = subject['kind'] === 'User' || subject['kind'] === 'Group'
  return isNamed ? missing({ apiGroup: rbacGroup })(subject) : subject
}
