import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

export const serviceAccountSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ServiceAccount'),
  metadata: objectMetaSchema,
  secrets: z.array(z.looseObject({ name: z.string().optional() })).optional(),
  imagePullSecrets: z.array(z.looseObject({ name: z.string().optional() })).optional(),
  automountServiceAccountToken: z.boolean().optional(),
})

export type ServiceAccount = z.infer<typeof serviceAccountSchema>

export const serviceAccountKind = coreKind(serviceAccountSchema, {
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  shortNames: ['sa'],
  subresources: [
    {
      name: 'token',
      verbs: ['create'],
      responseKind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
    },
  ],
  columns: [{ name: 'Secrets', type: 'string', cell: ({ secrets }) => secrets?.length ?? 0 }, coreAgeColumn],
})
