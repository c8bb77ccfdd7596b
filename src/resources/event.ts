import { z } from 'zod'
import { ageOf } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import type { Column } from './kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'
import { core, missing } from './type-rules.ts'
import { checkEvent } from './validation/cluster-rules.ts'

export const objectReferenceSchema = z.looseObject({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  namespace: z.string().optional(),
  name: z.string().optional(),
  uid: z.string().optional(),
  fieldPath: z.string().optional(),
})

export const eventSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Event'),
  metadata: objectMetaSchema,
  involvedObject: objectReferenceSchema,
  type: z.string().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
  count: z.number().int().optional(),
  firstTimestamp: z.string().nullish(),
  lastTimestamp: z.string().nullish(),
  eventTime: z.string().nullish(),
  series: z.looseObject({ count: z.int().optional(), lastObservedTime: z.string().optional() }).optional(),
  source: z.looseObject({ component: z.string().optional(), host: z.string().optional() }).optional(),
  reportingComponent: z.string().optional(),
  reportingInstance: z.string().optional(),
})

/** Something that happened to an object, for people to read. */
export type Event = z.infer<typeof eventSchema>

const columns: ReadonlyArray<Column<Event>> = [
  { name: 'Last Seen', type: 'string', cell: lastSeen },
  { name: 'Type', type: 'string', cell: ({ type }) => type ?? '' },
  { name: 'Reason', type: 'string', cell: ({ reason }) => reason ?? '' },
  { name: 'Object', type: 'string', cell: targetText },
  { name: 'Subobject', type: 'string', priority: 1, cell: ({ involvedObject }) => involvedObject.fieldPath ?? '' },
  { name: 'Source', type: 'string', priority: 1, cell: sourceText },
  { name: 'Message', type: 'string', cell: ({ message }) => (message ?? '').trim() },
  { name: 'First Seen', type: 'string', priority: 1, cell: firstSeen },
  { name: 'Count', type: 'string', priority: 1, cell: ({ series, count }) => series?.count ?? (count || 1) },
  { name: 'Name', type: 'string', format: 'name', priority: 1, cell: ({ metadata }) => metadata.name },
]

export const eventKind = coreKind(eventSchema, {
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  columns,
  validate: checkEvent,
  types: {
    [`${core}Event`]: {
      complete: missing({ involvedObject: {}, source: {}, reportingComponent: '', reportingInstance: '' }),
    },
  },
  selectableFields: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    // Newer recorders name themselves only in the newer field.
    { field: 'source', from: ['source.component', 'reportingComponent', 'reportingController'] },
    'type',
  ],
})

function firstSeen({ firstTimestamp, eventTime }: Event, now: number): string {
  return ageOf(firstTimestamp ?? eventTime, now)
}

function lastSeen(event: Event, now: number): string {
  if (event.series) return ageOf(event.series.lastObservedTime, now)
  return event.lastTimestamp ? ageOf(event.lastTimestamp, now) : firstSeen(event, now)
}

function targetText({ involvedObject: { kind = '', name } }: Event): string {
  return name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase()
}

function sourceText({ source, reportingComponent, reportingInstance }: Event): string {
  const component = source?.component || (reportingComponent ?? '')
  const instance = source?.host || (reportingInstance ?? '')
  return instance === '' ? component : `${component}, ${instance}`
}
