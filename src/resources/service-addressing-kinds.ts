import { isIP } from 'node:net'
import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { type FieldError, forbidden, invalid, required } from './field-error.ts'
import { metadataWithStatus } from './kind-facts.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'
import { fixed } from './update-rules.ts'
import { checkDnsSubdomain, checkPathSegment } from './validation/name-syntax.ts'

/** The range from which a cluster assigns addresses to Services, under its standard name. */
export const defaultServiceCidr = 'kubernetes'

export const serviceCidrSchema = z.looseObject({
  apiVersion: z.literal('networking.k8s.io/v1'),
  kind: z.literal('ServiceCIDR'),
  metadata: objectMetaSchema,
  spec: z.looseObject({ cidrs: z.array(z.string()).optional() }).optional(),
  status: z.looseObject({ conditions: z.array(conditionSchema.loose()).optional() }).optional(),
})

export const serviceCidrKind = coreKind(serviceCidrSchema, {
  group: 'networking.k8s.io',
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  namespaced: false,
  hasStatus: true,
  validate: checkServiceCidr,
  immutable: [fixed('spec.cidrs')],
  keptByStatus: metadataWithStatus,
  columns: [{ name: 'CIDRs', type: 'string', cell: ({ spec }) => (spec?.cidrs ?? []).join(',') }, coreAgeColumn],
})

type ServiceCidr = z.infer<typeof serviceCidrSchema>

function checkServiceCidr({ metadata, spec }: ServiceCidr): FieldError[] {
  if ((spec?.cidrs ?? []).length === 0) return [required('spec.cidrs', 'at least one CIDR required')]
  if (metadata.name === defaultServiceCidr) return []
  return [forbidden('metadata.name', 'the addresses of Services are all from one range, which is given at the start')]
}

export const ipAddressSchema = z.looseObject({
  apiVersion: z.literal('networking.k8s.io/v1'),
  kind: z.literal('IPAddress'),
  metadata: objectMetaSchema,
  spec: z
    .looseObject({
      parentRef: z
        .looseObject({
          group: z.string().optional(),
          resource: z.string().optional(),
          namespace: z.string().optional(),
          name: z.string().optional(),
        })
        .optional(),
    })
    .optional(),
})

export type IpAddress = z.infer<typeof ipAddressSchema>

/** Its name is the address, its `parentRef` the owner. */
export const ipAddressKind = coreKind(ipAddressSchema, {
  group: 'networking.k8s.io',
  kind: 'IPAddress',
  plural: 'ipaddresses',
  shortNames: ['ip'],
  namespaced: false,
  validate: checkIpAddress,
  // Its own rules say what it may be: `fe80::1`.
  checkName: checkPathSegment,
  immutable: [fixed('spec.parentRef')],
  columns: [{ name: 'ParentRef', type: 'string', cell: ({ spec }) => parentText(spec?.parentRef) }],
})

type ParentRef = NonNullable<NonNullable<IpAddress['spec']>['parentRef']>

function checkIpAddress({ metadata, spec }: IpAddress): FieldError[] {
  const errors =
    isIP(metadata.name) === 0
      ? [invalid('metadata.name', metadata.name, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
      : []
  const parent = spec?.parentRef
  if (!parent) return [...errors, required('spec.parentRef')]
  const { group = '', resource = '', namespace = '', name = '' } = parent
  if (group !== '') errors.push(...checkDnsSubdomain('spec.parentRef.group', group))
  if (resource === '') errors.push(required('spec.parentRef.resource'))
  else errors.push(...checkPathSegment('spec.parentRef.resource', resource))
  if (name === '') errors.push(required('spec.parentRef.name'))
  else errors.push(...checkPathSegment('spec.parentRef.name', name))
  return [...errors, ...checkPathSegment('spec.parentRef.namespace', namespace)]
}

function parentText(parent: ParentRef | undefined): string {
  if (!parent) return '<none>'
  const { group = '', resource = '', namespace = '', name = '' } = parent
  const what = (group === '' ? resource : `${resource}.${group}`).toLowerCase()
  return namespace === '' ? `${what}/${name}` : `${what}/${namespace}/${name}`
}
