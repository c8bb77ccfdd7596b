import { z } from 'zod'
import type { Kind } from '../../src/resources/kind.ts'
import { objectMetaSchema } from '../../src/resources/kubernetes-object.ts'

const schema = z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: objectMetaSchema })

/** As much of the kind as is needed to bring our kinds to a real API server. */
export const customResourceDefinitionKind: Kind<z.infer<typeof schema>> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  singular: 'customresourcedefinition',
  shortNames: ['crd'],
  categories: [],
  namespaced: false,
  schema,
  fields: () => ({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
  origin: 'core',
  columns: [],
  hasStatus: true,
}
