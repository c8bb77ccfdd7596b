import { z } from 'zod'
import { customKind } from './custom-kind.ts'
import { conditionsSchema, objectMetaSchema } from './kubernetes-object.ts'

export const clusterStatuses = ['Creating', 'Running', 'Abnormal', 'Deleting'] as const
export type ClusterStatus = (typeof clusterStatuses)[number]

/** `500m`, `4`, `16Gi` */
const quantityForm = /^\d+(\.\d+)?([eE]\d+|m|[kMGTPE]i?|Ki)?$/

export const clusterSchema = z
  .object({
    apiVersion: z.literal('sluice.dev/v1'),
    kind: z.literal('Cluster'),
    metadata: objectMetaSchema,
    spec: z
      .object({
        displayName: z.string().min(1).max(253).describe('What people call it.'),
        enterprise: z.string().min(1).max(253).describe('Whose cluster it is. It stays so.'),
        center: z.string().min(1).describe('The code of its compute center.'),
        quota: z
          .record(z.string().max(316), z.string().max(32).regex(quantityForm, 'must be a quantity'))
          .optional()
          .describe(
            'What an embedded cluster has of the machine (cpu, memory, kinds of cards); of what is not named, everything. For an attached one, what the management API calls its quota.',
          ),
        kubeconfigSecret: z
          .object({
            namespace: z.string().min(1).max(63).default('sluice').describe('The namespace of the Secret.'),
            name: z.string().min(1).max(253).describe('The name of the Secret.'),
            key: z.string().min(1).max(253).default('kubeconfig').describe('Under which key it has the kubeconfig.'),
          })
          .optional()
          .describe(
            'The Secret of the home cluster with the kubeconfig of an attached cluster. One without it is embedded.',
          ),
        deletionPolicy: z
          .enum(['Retain', 'Delete'])
          .default('Retain')
          .describe("What becomes of an embedded cluster's data when it is deleted."),
      })
      .describe('What the cluster is to be.'),
    status: z
      .object({
        id: z.string().optional().describe('The cluster ID.'),
        phase: z.enum(clusterStatuses).optional().describe('Creating, Running, Abnormal or Deleting.'),
        controlPlane: z.string().optional().describe('The address of its Kubernetes API.'),
        kubeconfigSecret: z
          .object({
            namespace: z.string().describe('The namespace of the Secret.'),
            name: z.string().describe('The name of the Secret.'),
          })
          .optional()
          .describe("The Secret of the home cluster with its administrator's kubeconfig."),
        conditions: conditionsSchema.optional(),
      })
      .optional()
      .describe('What has become of it so far.'),
  })
  .describe(
    'An elastic container cluster of an enterprise: one that runs here, or a Kubernetes that is attached by its kubeconfig.',
  )

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
    { name: 'ID', type: 'string', jsonPath: '.status.id' },
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Center', type: 'string', jsonPath: '.spec.center' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  hasStatus: true,
  celRules: [
    {
      path: '',
      // It becomes part of the name of the Secret with its kubeconfig.
      rule: 'self.metadata.name.size() <= 63',
      message: 'metadata.name must be no more than 63 characters',
    },
    {
      path: 'spec',
      rule: 'has(self.kubeconfigSecret) == has(oldSelf.kubeconfigSecret)',
      message: 'a cluster stays embedded or attached, as it was made',
      fieldPath: '.kubeconfigSecret',
    },
    { path: 'spec.center', rule: 'self == oldSelf', message: 'a cluster cannot move to another compute center' },
    { path: 'spec.enterprise', rule: 'self == oldSelf', message: 'a cluster stays with its enterprise' },
  ],
})

/**
 * On the Cluster of the cluster that it is an object of: `up` if a `sluice up` runs it, `controller` if it is a
 * Kubernetes in which Sluice's controller runs.
 */
export const homeLabel = 'sluice.dev/home'

export const clusterIdPattern = /^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/

/** What the management API and control-plane addresses call it; of one that has just been made, nothing yet. */
export function clusterIdOf({ status }: Cluster): string | undefined {
  return status?.id
}

/** A cluster that runs elsewhere, and is looked at from here. */
export function isAttached({ spec }: Pick<Cluster, 'spec'>): boolean {
  return spec.kubeconfigSecret !== undefined
}

/**
 * By which a client calls the control plane in its handshake (`tls-server-name`), since the address is the same for all
 * clusters of a machine. Nobody looks it up anywhere.
 */
export function controlPlaneName(clusterId: string): string {
  return `${clusterId}.vks.sluice.dev`
}
