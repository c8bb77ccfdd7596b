import { z } from 'zod'
import { labelsText } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { podTemplateSchema } from './pod-template.ts'
import { podTypes } from './pod-types.ts'
import { checkPodTemplateObject } from './validation/workload-rules.ts'

/** A Pod that somebody wrote down for later: nothing is created from it. */
export const podTemplateObjectSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('PodTemplate'),
  metadata: objectMetaSchema,
  template: podTemplateSchema,
})

export const podTemplateKind = coreKind(podTemplateObjectSchema, {
  kind: 'PodTemplate',
  plural: 'podtemplates',
  hasGeneration: true,
  validate: checkPodTemplateObject,
  types: podTypes,
  columns: [
    {
      name: 'Containers',
      type: 'string',
      cell: ({ template }) => (template.spec.containers ?? []).map(({ name }) => name).join(','),
    },
    {
      name: 'Images',
      type: 'string',
      cell: ({ template }) => (template.spec.containers ?? []).map(({ image }) => image ?? '').join(','),
    },
    { name: 'Pod Labels', type: 'string', cell: ({ template }) => labelsText(template.metadata?.labels) },
  ],
})
