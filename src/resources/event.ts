import { z } from 'zod'
import { humanDuration } from './age.ts'
import { coreKind } from './core-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

export const objectReferenceSchema = z.looseObject({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  namespace: z.string().optional(),
  name: z.string().optional(),
  uid: z.string().optional(),
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
  source: z.looseObject({ component: z.string().optional(), host: z.string().optional() }).optional(),
})

/** Something that happened to an object, for people. */
export type Event = z.infer<typeof eventSchema>

export const eventKind = coreKind(eventSchema, {
  kind: 'Event',
  plural: 'events',
  shortNames: ['ev'],
  columns: [
    {
      name: 'Last Seen',
      type: 'string',
      cell: (event, now) => {
        const seen = event.lastTimestamp ?? event.firstTimestamp ?? event.metadata.creationTimestamp
        return seen ? humanDuration(now - Date.parse(seen)) : '<unknown>'
      },
    },
    { name: 'Type', type: 'string', jsonPath: '.type' },
    { name: 'Reason', type: 'string', jsonPath: '.reason' },
    {
      name: 'Object',
      type: 'string',
      cell: ({ involvedObject }) => `${(involvedObject.kind ?? '').toLowerCase()}/${involvedObject.name ?? ''}`,
    },
    { name: 'Message', type: 'string', jsonPath: '.message' },
  ],
})
