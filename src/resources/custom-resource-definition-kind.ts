import { z } from 'zod'
import { createdAtColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { isJsonObject } from './json-value.ts'
import type { Envelope } from './kind-facts.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'

const namesSchema = z.looseObject({
  plural: z.string(),
  singular: z.string().optional(),
  kind: z.string(),
  listKind: z.string().optional(),
  shortNames: z.array(z.string()).optional(),
  categories: z.array(z.string()).optional(),
})

const versionSchema = z.looseObject({
  name: z.string(),
  served: z.boolean(),
  storage: z.boolean(),
  schema: z.looseObject({ openAPIV3Schema: z.looseObject({}).optional() }).optional(),
  subresources: z
    .looseObject({
      status: z.looseObject({}).optional(),
      scale: z
        .looseObject({
          specReplicasPath: z.string(),
          statusReplicasPath: z.string(),
          labelSelectorPath: z.string().optional(),
        })
        .optional(),
    })
    .optional(),
  additionalPrinterColumns: z
    .array(
      z.looseObject({
        name: z.string(),
        type: z.string(),
        format: z.string().optional(),
        description: z.string().optional(),
        priority: z.int().optional(),
        jsonPath: z.string(),
      }),
    )
    .optional(),
  deprecated: z.boolean().optional(),
  deprecationWarning: z.string().optional(),
})

export const customResourceDefinitionSchema = z.looseObject({
  apiVersion: z.literal('apiextensions.k8s.io/v1'),
  kind: z.literal('CustomResourceDefinition'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    group: z.string(),
    scope: z.string(),
    names: namesSchema,
    versions: z.array(versionSchema),
    preserveUnknownFields: z.boolean().optional(),
  }),
  status: z
    .looseObject({
      acceptedNames: namesSchema.partial().optional(),
      storedVersions: z.array(z.string()).optional(),
      conditions: z.array(conditionSchema.loose()).optional(),
    })
    .optional(),
})

/** A kind that is added to a cluster at run time. */
export type CustomResourceDefinition = z.infer<typeof customResourceDefinitionSchema>

export const customResourceDefinitionKind = coreKind(customResourceDefinitionSchema, {
  group: 'apiextensions.k8s.io',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  namespaced: false,
  hasStatus: true,
  hasGeneration: true,
  complete: completeDefinition,
  // An operator's definition may well have fifty thousand, and only cluster administrators send any.
  mostValues: 100_000,
  columns: [createdAtColumn],
})

/** Fills in what a definition leaves out; missing names are derived from the kind. */
function completeDefinition(object: Envelope): Envelope {
  const { spec } = object
  if (!isJsonObject(spec)) return object
  const names = isJsonObject(spec['names']) ? spec['names'] : {}
  const kind = typeof names['kind'] === 'string' ? names['kind'] : ''
  const derived =
    kind === ''
      ? {}
      : { singular: names['singular'] || kind.toLowerCase(), listKind: names['listKind'] || `${kind}List` }
  const conversion = spec['conversion'] ?? { strategy: 'None' }
  return { ...object, spec: { ...spec, names: { ...names, ...derived }, conversion } }
}
