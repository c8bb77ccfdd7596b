import { z } from 'zod'
import { objectMetaSchema } from './kubernetes-object.ts'
import { labelSelectorSchema } from './pod-template.ts'

const texts = z.array(z.string()).optional()

const resourceRuleSchema = z.looseObject({
  apiGroups: texts,
  apiVersions: texts,
  operations: texts,
  resources: texts,
  resourceNames: texts,
  scope: z.string().optional(),
})

export const matchResourcesSchema = z.looseObject({
  resourceRules: z.array(resourceRuleSchema).optional(),
  excludeResourceRules: z.array(resourceRuleSchema).optional(),
  namespaceSelector: labelSelectorSchema.optional(),
  objectSelector: labelSelectorSchema.optional(),
  matchPolicy: z.string().optional(),
})

export type MatchResources = z.infer<typeof matchResourcesSchema>
export type ResourceRule = z.infer<typeof resourceRuleSchema>

const namedExpressions = z.array(z.looseObject({ name: z.string(), expression: z.string() })).optional()

export const validatingAdmissionPolicySchema = z.looseObject({
  apiVersion: z.literal('admissionregistration.k8s.io/v1'),
  kind: z.literal('ValidatingAdmissionPolicy'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    paramKind: z.looseObject({ apiVersion: z.string().optional(), kind: z.string().optional() }).optional(),
    matchConstraints: matchResourcesSchema.optional(),
    matchConditions: namedExpressions,
    variables: namedExpressions,
    validations: z
      .array(
        z.looseObject({
          expression: z.string(),
          message: z.string().optional(),
          messageExpression: z.string().optional(),
          reason: z.string().optional(),
        }),
      )
      .optional(),
    auditAnnotations: z.array(z.looseObject({ key: z.string(), valueExpression: z.string() })).optional(),
    failurePolicy: z.string().optional(),
  }),
})

export type ValidatingAdmissionPolicy = z.infer<typeof validatingAdmissionPolicySchema>

export const validatingAdmissionPolicyBindingSchema = z.looseObject({
  apiVersion: z.literal('admissionregistration.k8s.io/v1'),
  kind: z.literal('ValidatingAdmissionPolicyBinding'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    policyName: z.string().optional(),
    paramRef: z
      .looseObject({
        name: z.string().optional(),
        namespace: z.string().optional(),
        selector: labelSelectorSchema.optional(),
        parameterNotFoundAction: z.string().optional(),
      })
      .optional(),
    matchResources: matchResourcesSchema.optional(),
    validationActions: texts,
  }),
})

export type ValidatingAdmissionPolicyBinding = z.infer<typeof validatingAdmissionPolicyBindingSchema>
