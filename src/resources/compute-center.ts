import { z } from 'zod'
import { customKind } from './custom-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

export const centerCodePattern = /^[a-z][a-z0-9]*-[0-9]+$/

export const computeCenterSchema = z
  .object({
    apiVersion: z.literal('sluice.dev/v1'),
    kind: z.literal('ComputeCenter'),
    metadata: objectMetaSchema,
    spec: z
      .object({
        id: z.string().min(1).max(64).describe('Its `id` in the list of compute centers.'),
        code: z.string().regex(centerCodePattern, 'must have the form <site>-<n>').describe('Its code: <site>-<n>.'),
        name: z.string().min(1).max(253).describe('What people call it.'),
        nameEn: z.string().min(1).max(253).describe('The same in English.'),
        country: z.string().max(253).describe('Where it is.'),
        address: z.string().max(1024).describe('Its postal address.'),
        enterprises: z.array(z.string()).default([]).describe('Enterprises that see this center; empty means all.'),
        endpoint: z.string().optional().describe('Its access URL.'),
        osmEndpoint: z.string().optional().describe('An access URL that some centers have instead of the endpoint.'),
        onlineDate: z
          .string()
          .regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/, 'must have the form YYYY-MM-DD HH:MM:SS')
          .optional()
          .describe('Since when it is in service.'),
        createdTime: z.string().nullable().optional().describe('When it was registered.'),
        proxyDomain: z.string().min(1).max(253).describe('The domain below which services are exposed.'),
        registry: z
          .string()
          .min(1)
          .max(253)
          .describe("The registry that images of this center's clusters must come from."),
      })
      .describe('What is known about the center.'),
  })
  .describe('A compute center: where its clusters get images from, and below which domain their services are exposed.')

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
