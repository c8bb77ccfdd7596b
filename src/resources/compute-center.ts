import { z } from 'zod'
import { customKind } from './custom-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

export const centerCodePattern = /^[a-z][a-z0-9]*-[0-9]+$/

export const computeCenterSchema = z.object({
  apiVersion: z.literal('sluice.dev/v1'),
  kind: z.literal('ComputeCenter'),
  metadata: objectMetaSchema,
  spec: z.object({
    /** The `id` of the compute-center list. */
    id: z.string().min(1).max(64),
    code: z.string().regex(centerCodePattern, 'must have the form <site>-<n>'),
    name: z.string().min(1).max(253),
    nameEn: z.string().min(1).max(253),
    country: z.string().max(253),
    address: z.string().max(1024),
    /** Enterprises that see this center; empty means all. */
    enterprises: z.array(z.string()).default([]),
    endpoint: z.string().optional(),
    osmEndpoint: z.string().optional(),
    onlineDate: z
      .string()
      .regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/, 'must have the form YYYY-MM-DD HH:MM:SS')
      .optional(),
    createdTime: z.string().nullable().optional(),
    /** The domain of exposed services. */
    proxyDomain: z.string().min(1).max(253),
    /** The registry that images of this center's clusters must come from. */
    registry: z.string().min(1).max(253),
  }),
})

export type ComputeCenter = z.infer<typeof computeCenterSchema> & { [field: string]: unknown }

export const computeCenterKind = customKind<ComputeCenter>({
  group: 'sluice.dev',
  version: 'v1',
  kind: 'ComputeCenter',
  plural: 'computecenters',
  singular: 'computecenter',
  shortNames: ['aidc'],
  categories: ['sluice'],
  namespaced: false,
  schema: computeCenterSchema,
  columns: [
    { name: 'Code', type: 'string', jsonPath: '.spec.code' },
    { name: 'Domain', type: 'string', jsonPath: '.spec.proxyDomain' },
    { name: 'Registry', type: 'string', jsonPath: '.spec.registry', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  hasStatus: false,
})
