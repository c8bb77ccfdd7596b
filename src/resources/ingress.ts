import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { missing } from './type-rules.ts'
import { checkIngress, checkIngressClass } from './validation/ingress-rules.ts'

export const ingressSchema = z.looseObject({
  apiVersion: z.literal('networking.k8s.io/v1'),
  kind: z.literal('Ingress'),
  metadata: objectMetaSchema,
  spec: z
    .looseObject({
      ingressClassName: z.string().optional(),
      rules: z.array(z.looseObject({ host: z.string().optional() })).optional(),
      tls: z.array(z.looseObject({})).optional(),
    })
    .optional(),
  status: z
    .looseObject({
      loadBalancer: z
        .looseObject({
          ingress: z.array(z.looseObject({ ip: z.string().optional(), hostname: z.string().optional() })).optional(),
        })
        .optional(),
    })
    .optional(),
})

export type Ingress = z.infer<typeof ingressSchema>

/** As wide as kubectl shows it. */
const addressWidth = 16

/** For an ingress controller of the user's: as in any Kubernetes, the cluster itself does nothing with it. */
export const ingressKind = coreKind(ingressSchema, {
  group: 'networking.k8s.io',
  kind: 'Ingress',
  plural: 'ingresses',
  shortNames: ['ing'],
  hasStatus: true,
  hasGeneration: true,
  validate: checkIngress,
  initialStatus: () => ({ loadBalancer: {} }),
  columns: [
    { name: 'Class', type: 'string', cell: ({ spec }) => spec?.ingressClassName ?? '<none>' },
    { name: 'Hosts', type: 'string', cell: hostsText },
    { name: 'Address', type: 'string', cell: addressText },
    { name: 'Ports', type: 'string', cell: ({ spec }) => ((spec?.tls ?? []).length > 0 ? '80, 443' : '80') },
    coreAgeColumn,
  ],
})

function hostsText({ spec }: Ingress): string {
  const rules = spec?.rules ?? []
  const hosts = rules.flatMap(({ host }) => (host ? [host] : []))
  if (hosts.length === 0) return '*'
  const shown = hosts.slice(0, 3).join(',')
  return hosts.length > 3 ? `${shown} + ${rules.length - 3} more...` : shown
}

function addressText({ status }: Ingress): string {
  const places = (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip || hostname || [])
  const text = [...new Set(places)].sort().join(',')
  return text.length > addressWidth ? `${text.slice(0, addressWidth - 3)}...` : text
}

export const ingressClassSchema = z.looseObject({
  apiVersion: z.literal('networking.k8s.io/v1'),
  kind: z.literal('IngressClass'),
  metadata: objectMetaSchema,
  spec: z
    .looseObject({
      controller: z.string().optional(),
      parameters: z
        .looseObject({ apiGroup: z.string().optional(), kind: z.string().optional(), name: z.string().optional() })
        .optional(),
    })
    .optional(),
})

export const ingressClassKind = coreKind(ingressClassSchema, {
  group: 'networking.k8s.io',
  kind: 'IngressClass',
  plural: 'ingressclasses',
  namespaced: false,
  hasGeneration: true,
  validate: checkIngressClass,
  types: {
    'io.k8s.api.networking.v1.IngressClassParametersReference': { complete: missing({ scope: 'Cluster' }) },
  },
  columns: [
    { name: 'Controller', type: 'string', cell: ({ spec }) => spec?.controller ?? '' },
    { name: 'Parameters', type: 'string', cell: ({ spec }) => parametersText(spec?.parameters) },
    coreAgeColumn,
  ],
})

function parametersText(parameters: NonNullable<z.infer<typeof ingressClassSchema>['spec']>['parameters']): string {
  if (!parameters) return '<none>'
  const { apiGroup, kind = '', name = '' } = parameters
  return apiGroup === undefined ? `${kind}/${name}` : `${kind}.${apiGroup}/${name}`
}
