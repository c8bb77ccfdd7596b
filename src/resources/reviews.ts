import { z } from 'zod'
import { createdAtColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

/** Questions about who somebody is and what they may do: created to be answered, never stored. */
const optionalText = z.string().optional()

const resourceAttributesSchema = z.looseObject({
  namespace: optionalText,
  verb: optionalText,
  group: optionalText,
  version: optionalText,
  resource: optionalText,
  subresource: optionalText,
  name: optionalText,
})

export type ResourceAttributes = z.infer<typeof resourceAttributesSchema>

const attributes = {
  resourceAttributes: resourceAttributesSchema.optional(),
  nonResourceAttributes: z.looseObject({ path: optionalText, verb: optionalText }).optional(),
}

const subjectSpecSchema = z.looseObject({
  ...attributes,
  user: optionalText,
  groups: z.array(z.string()).optional(),
  uid: optionalText,
})

function reviewKind(
  facts: { readonly group: string; readonly kind: string; readonly namespaced?: boolean },
  spec: z.ZodType,
) {
  const schema = z.looseObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: objectMetaSchema.extend({ name: z.string().default('') }),
    spec,
    status: z.looseObject({}).optional(),
  })
  return coreKind(schema, {
    namespaced: false,
    ...facts,
    plural: `${facts.kind.toLowerCase()}s`,
    verbs: ['create'],
    columns: [createdAtColumn],
  })
}

const authorization = 'authorization.k8s.io'
const authentication = 'authentication.k8s.io'

export const selfSubjectAccessReviewKind = reviewKind(
  { group: authorization, kind: 'SelfSubjectAccessReview' },
  z.looseObject(attributes),
)

export const subjectAccessReviewKind = reviewKind(
  { group: authorization, kind: 'SubjectAccessReview' },
  subjectSpecSchema,
)

export const localSubjectAccessReviewKind = reviewKind(
  { group: authorization, kind: 'LocalSubjectAccessReview', namespaced: true },
  subjectSpecSchema,
)

export const selfSubjectRulesReviewKind = reviewKind(
  { group: authorization, kind: 'SelfSubjectRulesReview' },
  z.looseObject({ namespace: optionalText }),
)

export const tokenReviewKind = reviewKind(
  { group: authentication, kind: 'TokenReview' },
  z.looseObject({ token: optionalText, audiences: z.array(z.string()).optional() }),
)

export const selfSubjectReviewKind = reviewKind(
  { group: authentication, kind: 'SelfSubjectReview' },
  z.looseObject({}).optional(),
)

export const reviewKinds = [
  localSubjectAccessReviewKind,
  selfSubjectAccessReviewKind,
  selfSubjectReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
  tokenReviewKind,
]
