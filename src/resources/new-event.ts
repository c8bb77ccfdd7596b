import { z } from 'zod'
import { coreKind } from './core-kind.ts'
import { eventKind, eventSchema, objectReferenceSchema } from './event.ts'
import { type KubernetesObject, objectMetaSchema } from './kubernetes-object.ts'
import { missing } from './type-rules.ts'
import { checkNewEvent } from './validation/cluster-rules.ts'

export const newEventSchema = z.looseObject({
  apiVersion: z.literal('events.k8s.io/v1'),
  kind: z.literal('Event'),
  metadata: objectMetaSchema,
  regarding: objectReferenceSchema.optional(),
  type: z.string().optional(),
  reason: z.string().optional(),
  note: z.string().optional(),
  eventTime: z.string().nullish(),
})

/** The same events under `events.k8s.io/v1`, where some fields have other names. */
export type NewEvent = z.infer<typeof newEventSchema>

const oldNames: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  note: 'message',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
}
const newNames = Object.fromEntries(Object.entries(oldNames).map(([after, before]) => [before, after]))

export const newEventKind = coreKind(newEventSchema, {
  group: 'events.k8s.io',
  kind: 'Event',
  plural: 'events',
  validate: checkNewEvent,
  types: { 'io.k8s.api.events.v1.Event': { complete: missing({ deprecatedSource: {} }) } },
  selectableFields: [
    'regarding.kind',
    'regarding.namespace',
    'regarding.name',
    'regarding.uid',
    'regarding.apiVersion',
    'regarding.resourceVersion',
    'regarding.fieldPath',
    'reason',
    { field: 'reportingController', from: ['reportingController', 'reportingComponent'] },
    'type',
  ],
  shortNames: ['ev'],
  columns: eventKind.columns.map((column) => ({
    ...column,
    cell: (event: KubernetesObject, now: number) => column.cell?.(eventSchema.parse(toStored(event)), now) ?? '',
  })),
  storage: { kind: eventKind, toStored, fromStored },
})

function toStored(event: KubernetesObject): KubernetesObject {
  const { involvedObject = {}, ...fields } = renamed(event, oldNames)
  return { involvedObject, ...fields, apiVersion: 'v1', kind: 'Event', metadata: event.metadata }
}

function fromStored(event: KubernetesObject): KubernetesObject {
  return {
    ...renamed(event, newNames),
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: event.metadata,
  }
}

function renamed(event: KubernetesObject, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(event).map(([field, value]) => [names[field] ?? field, value]))
}
