import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { labelsText } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import { type FieldError, forbidden } from './field-error.ts'
import { type JsonObject, isJsonObject } from './json-value.ts'
import { coreV1, proxyVerbs } from './kind-facts.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { addressService } from './service-addressing.ts'
import { core, missing } from './type-rules.ts'
import { checkServiceLabel } from './validation/name-syntax.ts'
import { checkService, checkServiceUpdate } from './validation/service-rules.ts'

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
    clusterIPs: z.array(z.string()).optional(),
    ipFamilies: z.array(z.string()).optional(),
    ipFamilyPolicy: z.string().optional(),
    externalName: z.string().optional(),
    sessionAffinity: z.string().optional(),
    sessionAffinityConfig: z
      .looseObject({ clientIP: z.looseObject({ timeoutSeconds: z.int().optional() }).optional() })
      .optional(),
    externalIPs: z.array(z.string()).optional(),
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
    { name: 'Type', type: 'string', cell: ({ spec }) => spec.type },
    { name: 'Cluster-IP', type: 'string', cell: ({ spec }) => spec.clusterIPs?.[0] ?? (spec.clusterIP || '<none>') },
    { name: 'External-IP', type: 'string', cell: externalAddress },
    { name: 'Port(s)', type: 'string', cell: ({ spec }) => (spec.ports ?? []).map(portText).join(',') || '<none>' },
    coreAgeColumn,
    { name: 'Selector', type: 'string', priority: 1, cell: ({ spec }) => labelsText(spec.selector) },
  ],
  checkName: checkServiceLabel,
  selectableFields: ['spec.clusterIP', 'spec.type'],
  subresources: [{ name: 'proxy', verbs: proxyVerbs, responseKind: coreV1('ServiceProxyOptions') }],
  types: {
    [`${core}Service`]: { parts: ['spec'] },
    [`${core}ServiceSpec`]: { complete: completeSpec },
    [`${core}ServicePort`]: { complete: completePort },
  },
  complete: addressService,
  initialStatus: () => ({ loadBalancer: {} }),
  deletion: { answersWithObject: true },
  validate: (service, previous) => [
    ...checkService(service),
    ...(previous ? checkServiceUpdate(service, previous) : []),
    ...refuseNodePorts(service),
  ],
})

function refuseNodePorts({ spec }: Service): FieldError[] {
  if (spec.type !== 'NodePort' && spec.type !== 'LoadBalancer') return []
  const why = `${spec.type} services are not available in this cluster; bind a ServiceExporter (sluice.dev/v1) to a ClusterIP service instead`
  return [forbidden('spec.type', why)]
}

function externalAddress({ spec }: Service): string {
  if (spec.type === 'ExternalName') return spec.externalName ?? ''
  const own = (spec.externalIPs ?? []).join(',')
  return own || (spec.type === 'LoadBalancer' ? '<pending>' : '<none>')
}

function portText({ port, nodePort, protocol }: z.infer<typeof portSchema>): string {
  return nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`
}

function completeSpec(value: JsonObject): JsonObject {
  const { sessionAffinityConfig, ...spec } = missing({ type: 'ClusterIP', sessionAffinity: 'None' })(value)
  const inside = spec['type'] === 'ExternalName' ? {} : { internalTrafficPolicy: 'Cluster' }
  if (spec['sessionAffinity'] !== 'ClientIP') return missing(inside)(spec)
  const given = isJsonObject(sessionAffinityConfig) ? sessionAffinityConfig : {}
  const clientIP = { timeoutSeconds: 10_800, ...(isJsonObject(given['clientIP']) ? given['clientIP'] : {}) }
  return { ...missing(inside)(spec), sessionAffinityConfig: { ...given, clientIP } }
}

function completePort(value: JsonObject): JsonObject {
  const { port, targetPort } = value
  return { ...value, protocol: value['protocol'] || 'TCP', targetPort: targetPort || port }
}
