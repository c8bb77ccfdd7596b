import { z } from 'zod'
import { customKind } from './custom-kind.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'

export const clusterStatuses = ['Creating', 'Running', 'Abnormal', 'Deleting'] as const
export type ClusterStatus = (typeof clusterStatuses)[number]

export const clusterSchema = z.object({
  apiVersion: z.literal('sluice.dev/v1'),
  kind: z.literal('Cluster'),
  /** The name is the cluster ID. */
  metadata: objectMetaSchema,
  spec: z.object({
    displayName: z.string().min(1).max(253),
    enterprise: z.string().min(1).max(253),
    /** The code of its compute center. */
    center: z.string().min(1),
  }),
  status: z
    .object({
      phase: z.enum(clusterStatuses).optional(),
      controlPlane: z.string().optional(),
      conditions: z.array(conditionSchema).optional(),
    })
    .optional(),
})

/** An elastic container cluster of an enterprise. */
export type Cluster = z.infer<typeof clusterSchema> & { [field: string]: unknown }

export const clusterKind = customKind<Cluster>({
  group: 'sluice.dev',
  version: 'v1',
  kind: 'Cluster',
  plural: 'clusters',
  singular: 'cluster',
  shortNames: ['vks'],
  categories: ['sluice'],
  namespaced: false,
  schema: clusterSchema,
  columns: [
    { name: 'Display Name', type: 'string', jsonPath: '.spec.displayName' },
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Center', type: 'string', jsonPath: '.spec.center' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  hasStatus: true,
})

export const clusterIdPattern = /^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/
