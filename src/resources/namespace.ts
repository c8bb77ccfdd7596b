import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { type JsonObject, isJsonObject } from './json-value.ts'
import { type Envelope, coreV1 } from './kind-facts.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { specOf } from './update-rules.ts'
import { checkDnsLabel } from './validation/name-syntax.ts'

export const namespaceSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Namespace'),
  metadata: objectMetaSchema,
  spec: z.looseObject({ finalizers: z.array(z.string()).optional() }).optional(),
  status: z.looseObject({ phase: z.enum(['Active', 'Terminating']).optional() }).optional(),
})

export type Namespace = z.infer<typeof namespaceSchema>

export const namespaceKind = coreKind(namespaceSchema, {
  kind: 'Namespace',
  plural: 'namespaces',
  shortNames: ['ns'],
  namespaced: false,
  hasStatus: true,
  // No deletion of collections: that would be the whole cluster.
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  checkName: checkDnsLabel,
  selectableFields: ['status.phase'],
  subresources: [{ name: 'finalize', verbs: ['update'], responseKind: coreV1('Namespace') }],
  initialStatus: () => ({ phase: 'Active' }),
  complete: (namespace, previous) => withFinalizers(labelled(namespace), previous),
  deletion: {
    lasting: ['default', 'kube-system', 'kube-public'],
    isHeld: ({ spec }) => (spec?.finalizers ?? []).length > 0,
    marked: (namespace) => ({ ...namespace, status: { ...namespace.status, phase: 'Terminating' as const } }),
  },
  columns: [{ name: 'Status', type: 'string', cell: ({ status }) => status?.phase ?? '' }, coreAgeColumn],
})

/** A namespace goes after its content: whoever has emptied it removes this finalizer. */
const contentFinalizer = 'kubernetes'

/** Every namespace begins with it, and only the `finalize` subresource changes it. */
function withFinalizers(namespace: Envelope, previous: JsonObject | undefined): Envelope {
  if (previous) return { ...namespace, spec: previous['spec'] }
  return { ...namespace, spec: { ...specOf(namespace), finalizers: [contentFinalizer] } }
}

function labelled(namespace: Envelope): Envelope {
  const { name, labels } = namespace.metadata
  if (typeof name !== 'string') return namespace
  const all = { ...(isJsonObject(labels) ? labels : {}), 'kubernetes.io/metadata.name': name }
  return { ...namespace, metadata: { ...namespace.metadata, labels: all } }
}
