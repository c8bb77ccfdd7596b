import { z } from 'zod'
import { createdAtColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { checkPathSegment } from './validation/name-syntax.ts'
import { checkRole } from './validation/rbac-rules.ts'

export const rbacGroup = 'rbac.authorization.k8s.io'

const strings = z.array(z.string()).optional()

export const policyRuleSchema = z.looseObject({
  verbs: z.array(z.string()),
  apiGroups: strings,
  resources: strings,
  resourceNames: strings,
  nonResourceURLs: strings,
})

export type PolicyRule = z.infer<typeof policyRuleSchema>

const rules = z.array(policyRuleSchema).nullish()

export const roleSchema = z.looseObject({
  apiVersion: z.literal('rbac.authorization.k8s.io/v1'),
  kind: z.literal('Role'),
  metadata: objectMetaSchema,
  rules,
})

export type Role = z.infer<typeof roleSchema>

export const clusterRoleSchema = z.looseObject({
  apiVersion: z.literal('rbac.authorization.k8s.io/v1'),
  kind: z.literal('ClusterRole'),
  metadata: objectMetaSchema,
  rules,
  aggregationRule: z
    .looseObject({
      clusterRoleSelectors: z
        .array(z.looseObject({ matchLabels: z.record(z.string(), z.string()).optional() }))
        .optional(),
    })
    .optional(),
})

export type ClusterRole = z.infer<typeof clusterRoleSchema>

export const roleKind = coreKind(roleSchema, {
  group: rbacGroup,
  kind: 'Role',
  plural: 'roles',
  validate: (role) => checkRole(role, true),
  checkName: checkPathSegment,
  types: { 'io.k8s.api.rbac.v1.Role': { shownEmpty: ['rules'] } },
  columns: [createdAtColumn],
})

export const clusterRoleKind = coreKind(clusterRoleSchema, {
  group: rbacGroup,
  kind: 'ClusterRole',
  plural: 'clusterroles',
  validate: (role) => checkRole(role, false),
  checkName: checkPathSegment,
  types: { 'io.k8s.api.rbac.v1.ClusterRole': { shownEmpty: ['rules'] } },
  namespaced: false,
  columns: [createdAtColumn],
})
