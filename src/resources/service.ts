import { z } from 'zod'
import { ageColumn } from './age.ts'
import { coreKind } from './core-kind.ts'
import { type FieldError, forbidden } from './field-error.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

const portSchema = z.looseObject({
  name: z.string().optional(),
  port: z.int().min(1, 'must be between 1 and 65535, inclusive').max(65535, 'must be between 1 and 65535, inclusive'),
  targetPort: z.union([z.int(), z.string()]).optional(),
  protocol: z.enum(['TCP', 'UDP', 'SCTP']).default('TCP'),
  nodePort: z.int().optional(),
})

export const serviceSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Service'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']).default('ClusterIP'),
    clusterIP: z.string().optional(),
    selector: z.record(z.string(), z.string()).optional(),
    ports: z.array(portSchema).optional(),
  }),
})

export type Service = z.infer<typeof serviceSchema>

export const serviceKind = coreKind(serviceSchema, {
  kind: 'Service',
  plural: 'services',
  shortNames: ['svc'],
  categories: ['all'],
  hasStatus: true,
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Cluster-IP', type: 'string', cell: ({ spec }) => spec.clusterIP ?? 'None' },
    { name: 'External-IP', type: 'string', cell: () => '<none>' },
    {
      name: 'Port(s)',
      type: 'string',
      cell: ({ spec }) => (spec.ports ?? []).map(({ port, protocol }) => `${port}/${protocol}`).join(',') || '<none>',
    },
    ageColumn,
    {
      name: 'Selector',
      type: 'string',
      priority: 1,
      cell: ({ spec }) =>
        Object.entries(spec.selector ?? {})
          .map(([key, value]) => `${key}=${value}`)
          .join(',') || '<none>',
    },
  ],
  validate: refuseNodePorts,
})

function refuseNodePorts({ spec }: Service): FieldError[] {
  if (spec.type !== 'NodePort' && spec.type !== 'LoadBalancer') return []
  const why = `${spec.type} services are not available in this cluster; bind a ServiceExporter (sluice.dev/v1) to a ClusterIP service instead`
  return [forbidden('spec.type', why)]
}
