import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { firstThree } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import { objectReferenceSchema } from './event.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { core, missing } from './type-rules.ts'
import { checkEndpoints } from './validation/endpoints-rules.ts'

const addressSchema = z.looseObject({
  ip: z.string(),
  hostname: z.string().optional(),
  nodeName: z.string().optional(),
  targetRef: objectReferenceSchema.optional(),
})

const subsetSchema = z.looseObject({
  addresses: z.array(addressSchema).optional(),
  notReadyAddresses: z.array(addressSchema).optional(),
  ports: z
    .array(z.looseObject({ name: z.string().optional(), port: z.int(), protocol: z.string().default('TCP') }))
    .optional(),
})

export const endpointsSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Endpoints'),
  metadata: objectMetaSchema,
  subsets: z.array(subsetSchema).optional(),
})

/** The predecessor of EndpointSlices, for clients that still read it, and for those who write it by hand. */
export type Endpoints = z.infer<typeof endpointsSchema>
export type EndpointSubset = z.infer<typeof subsetSchema>
export type EndpointAddress = z.infer<typeof addressSchema>

/** Endpoints with this label set to `true` are not mirrored to EndpointSlices. */
export const skipMirrorLabel = 'endpointslice.kubernetes.io/skip-mirror'

export const endpointsKind = coreKind(endpointsSchema, {
  kind: 'Endpoints',
  plural: 'endpoints',
  shortNames: ['ep'],
  deprecationWarning: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  validate: checkEndpoints,
  types: { [`${core}EndpointPort`]: { complete: missing({ protocol: 'TCP' }) } },
  columns: [
    {
      name: 'Endpoints',
      type: 'string',
      cell: ({ subsets = [] }) => (subsets.length === 0 ? '<none>' : firstThree(endpointTexts(subsets))),
    },
    coreAgeColumn,
  ],
})

function endpointTexts(subsets: readonly EndpointSubset[]): string[] {
  return subsets.flatMap(({ addresses = [], ports = [] }) => {
    if (ports.length === 0) return addresses.map(({ ip }) => ip)
    return ports.flatMap(({ port }) =>
      addresses.map(({ ip }) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)),
    )
  })
}
