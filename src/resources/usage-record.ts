import { z } from 'zod'
import { customKind } from './custom-kind.ts'
import { objectMetaSchema } from './kubernetes-object.ts'

/** The most models and keys that one record tells apart. What is beyond is added to one entry of this name. */
export const mostUsageEntries = 1_000
export const otherName = '*'

const count = () => z.int().min(0).default(0)
const seconds = () => z.number().min(0).default(0)
const name = () => z.string().min(1).max(253)

const servedUsageSchema = z.object({
  model: name().describe('The Model that was asked; * for all those that are beyond the bound.'),
  key: name().optional().describe('The ApiKey it was asked with; none where no keys are asked for.'),
  requests: count().describe('Finished requests, failed and abandoned ones included.'),
  failedRequests: count().describe('Answered with an error, or broken off by the server.'),
  abandonedRequests: count().describe('The client left before the end of the answer.'),
  promptTokens: count().describe('Tokens that were asked with.'),
  completionTokens: count().describe('Tokens that were answered with.'),
  estimatedTokens: count().describe('Those among both that the engine did not report and that were estimated.'),
})

const cardUsageSchema = z.object({
  model: name().describe('The Model whose Pods held the cards.'),
  seconds: seconds().describe('Card-seconds that its Pods held.'),
  savedSeconds: seconds().describe('Card-seconds that one replica which never sleeps would have held in addition.'),
})

export const usageRecordSchema = z
  .object({
    apiVersion: z.literal('sluice.dev/v1'),
    kind: z.literal('UsageRecord'),
    metadata: objectMetaSchema,
    spec: z
      .object({
        day: z
          .string()
          .regex(/^\d{4}-\d\d-\d\d$/, 'must be a day, such as 2031-01-31')
          .describe('The day in UTC on which requests ended and cards were held.'),
        writer: name().describe('The gateway or controller that counted. Each has records of its own.'),
        lastWrite: z
          .object({
            run: z.string().min(1).max(64).describe('The run: each start of the writer is another.'),
            number: z.int().min(1).describe('The number of the write in that run, from 1.'),
          })
          .describe('Which write of which run of the writer is the last in here, so that none counts twice.'),
        served: z
          .array(servedUsageSchema)
          .max(mostUsageEntries + 1)
          .default([])
          .describe('What models answered, by model and key.'),
        cards: z
          .array(cardUsageSchema)
          .max(mostUsageEntries + 1)
          .default([])
          .describe('What models held of the cards.'),
      })
      .describe('What was counted, when and by whom.'),
  })
  .describe('What one gateway or controller counted on one day. `sluice usage` adds them up.')

/** What one gateway or controller counted on one day. */
export type UsageRecord = z.infer<typeof usageRecordSchema> & { [field: string]: unknown }
/** What a model answered to the holder of a key. */
export type ServedUsage = z.infer<typeof servedUsageSchema>
/** What a model held of the cards. */
export type CardUsage = z.infer<typeof cardUsageSchema>

export const usageRecordKind = customKind<UsageRecord>({
  group: 'sluice.dev',
  version: 'v1',
  kind: 'UsageRecord',
  plural: 'usagerecords',
  singular: 'usagerecord',
  shortNames: [],
  categories: ['sluice'],
  namespaced: true,
  schema: usageRecordSchema,
  columns: [
    { name: 'Day', type: 'string', jsonPath: '.spec.day' },
    { name: 'Writer', type: 'string', jsonPath: '.spec.writer' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  hasStatus: false,
})

/** The day in UTC, such as `2031-01-31`. Days compare as texts do. */
export function usageDayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
