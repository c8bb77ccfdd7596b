import { z } from 'zod'
import { customKind } from './custom-kind.ts'
import { conditionsSchema, objectMetaSchema } from './kubernetes-object.ts'

export const serviceExporterSchema = z
  .object({
    apiVersion: z.literal('sluice.dev/v1'),
    kind: z.literal('ServiceExporter'),
    metadata: objectMetaSchema,
    spec: z
      .object({
        serviceName: z
          .string()
          .min(1)
          .max(63)
          .regex(/^[a-z]([-a-z0-9]*[a-z0-9])?$/, 'must be the name of a Service in this namespace')
          .describe('The Service of this namespace that is exposed.'),
        servicePort: z
          .int()
          .min(1, 'must be between 1 and 65535')
          .max(65535, 'must be between 1 and 65535')
          .describe('The port of the Service, not of its Pods.'),
        tlsSecretName: z
          .string()
          .max(253)
          .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be the name of a Secret in this namespace')
          .optional()
          .describe(
            "A Secret of this namespace (kubernetes.io/tls) with a certificate for the host. Without it the installation's own is shown.",
          ),
      })
      .describe('What is exposed, and with which certificate.'),
    status: z
      .object({
        url: z
          .string()
          .optional()
          .describe('Where it is reached: https://<service-name>-x-<namespace>-x-<cluster_id>.<proxy domain>:22443.'),
        conditions: conditionsSchema.optional(),
      })
      .optional()
      .describe('What has become of it so far.'),
  })
  .describe('Exposes a Service of its namespace at an address outside of the cluster, over TLS.')

/** Binds a Service of its namespace to an address outside the cluster. */
export type ServiceExporter = z.infer<typeof serviceExporterSchema> & { [field: string]: unknown }

export const serviceExporterKind = customKind<ServiceExporter>({
  group: 'sluice.dev',
  version: 'v1',
  kind: 'ServiceExporter',
  plural: 'serviceexporters',
  singular: 'serviceexporter',
  shortNames: ['svcexp'],
  categories: ['sluice'],
  namespaced: true,
  schema: serviceExporterSchema,
  columns: [
    { name: 'Service', type: 'string', jsonPath: '.spec.serviceName' },
    { name: 'Port', type: 'integer', jsonPath: '.spec.servicePort' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'URL', type: 'string', jsonPath: '.status.url' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  hasStatus: true,
})

/** The label in front of the proxy domain. DNS allows 63 characters; a longer one cannot be exposed. */
export function exposedHostLabel(serviceName: string, namespace: string, clusterId: string): string {
  return `${serviceName}-x-${namespace}-x-${clusterId}`
}

export const longestHostLabel = 63
