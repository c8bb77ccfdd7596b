import { z } from 'zod'
import { coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { fixed } from './update-rules.ts'
import { checkControllerRevision } from './validation/workload-rules.ts'

export const controllerRevisionSchema = z.looseObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('ControllerRevision'),
  metadata: objectMetaSchema,
  /** What the controller needs to go back to this revision; for a StatefulSet, a patch that sets its template. */
  data: z.unknown().optional(),
  revision: z.int(),
})

/** A past state of something that is rolled out. */
export type ControllerRevision = z.infer<typeof controllerRevisionSchema>

export const controllerRevisionKind = coreKind(controllerRevisionSchema, {
  group: 'apps',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  validate: checkControllerRevision,
  immutable: [fixed('data')],
  columns: [
    { name: 'Controller', type: 'string', cell: ({ metadata }) => controllerText(metadata.ownerReferences) },
    { name: 'Revision', type: 'string', cell: ({ revision }) => revision },
    coreAgeColumn,
  ],
})

function controllerText(owners: ControllerRevision['metadata']['ownerReferences'] = []): string {
  const owner = owners.find(({ controller }) => controller === true)
  if (!owner) return '<none>'
  const [group = '', version] = owner.apiVersion.split('/')
  const kind = owner.kind.toLowerCase()
  return version === undefined ? `${kind}/${owner.name}` : `${kind}.${group}/${owner.name}`
}
