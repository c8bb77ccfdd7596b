import { z } from 'zod'
import { clusterIdPattern, clusterStatuses } from '../../resources/cluster.ts'
import { type UsageRow, usageGroupings } from '../../resources/usage-summary.ts'
import type { ClusterDetail } from '../cluster-detail.ts'
import type { ComputeCenterEntry } from '../compute-center-entry.ts'
import type { UsageAnswer } from '../usage-answer.ts'

const count = z.int().min(0)
const use = z.strictObject({
  hard: count.meta({ description: 'The quota.' }),
  used: count.meta({ description: 'What is in use, rounded up.' }),
})

/** The form of the answers, for the OpenAPI document. The compiler and a test make sure that the answers have it. */
export const clusterDetailSchema = z.strictObject({
  id: z.string().regex(clusterIdPattern).meta({ description: 'The cluster ID: the last segment of its address.' }),
  name: z.string(),
  status: z.enum(clusterStatuses),
  utilizationRate: z.strictObject({
    gpu: z.array(
      z.strictObject({
        name: z.string().meta({ description: '<vendor>.com/gpu-<model>' }),
        displayName: z.string(),
        ...use.shape,
        ratio: z
          .string()
          .regex(/^\d+:\d+:\d+$/)
          .meta({ description: 'Cards, cores and GiB that come with one card.' }),
      }),
    ),
    mem: use.meta({ description: 'Whole GiB.' }),
    cpu: use.meta({ description: 'Whole cores.' }),
  }),
})

export const computeCenterSchema = z.strictObject({
  id: z.string(),
  code: z.string().meta({ description: '<site>-<n>' }),
  name: z.string(),
  nameEn: z.string(),
  country: z.string(),
  address: z.string(),
  endpoInt: z.string().optional().meta({ description: 'Its access URL; the field is spelled so.' }),
  osmEndpoInt: z.string().optional(),
  onlineDate: z.string().optional().meta({ description: 'YYYY-MM-DD HH:MM:SS' }),
  createdTime: z.string().nullable().optional(),
})

const served = {
  requests: count.meta({ description: 'Finished requests, failed and abandoned ones included.' }),
  failedRequests: count.meta({ description: 'Answered with an error, or broken off by the server.' }),
  abandonedRequests: count.meta({ description: 'The client left before the end of the answer.' }),
  promptTokens: count,
  completionTokens: count,
  estimatedTokens: count.meta({ description: 'Those among both that engines did not report.' }),
  cardSeconds: count.optional().meta({ description: 'Missing where keys are told apart or one is asked for.' }),
  savedCardSeconds: count
    .optional()
    .meta({ description: 'What one replica of each model that never sleeps would have held in addition.' }),
}

export const usageSchema = z.strictObject({
  since: z.iso.date(),
  until: z.iso.date(),
  by: z.array(z.enum(usageGroupings)),
  rows: z.array(
    z.strictObject({
      day: z.iso.date().optional(),
      model: z.string().optional().meta({ description: '* for all those that were too many to be told apart.' }),
      key: z.string().nullable().optional().meta({ description: 'null where no key was asked for.' }),
      ...served,
    }),
  ),
  total: z.strictObject(served),
})

export const failureSchema = z.strictObject({ code: z.literal(-1), msg: z.string().min(1) })

export function successOf<T extends z.ZodType>(data: T) {
  return z.strictObject({ code: z.literal(0), data })
}

// Lets the compiler refuse a field that is in the answers but not here, or the other way round.
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never
true satisfies Same<keyof ClusterDetail, keyof z.infer<typeof clusterDetailSchema>>
true satisfies Same<keyof ComputeCenterEntry, keyof z.infer<typeof computeCenterSchema>>
true satisfies Same<keyof UsageAnswer, keyof z.infer<typeof usageSchema>>
true satisfies Same<keyof UsageRow, keyof z.infer<typeof usageSchema>['rows'][number]>
