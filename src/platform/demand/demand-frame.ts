import { z } from 'zod'

/** What a gateway tells about one model. Ages instead of times: the clocks of two machines differ. */
export interface ToldModel {
  readonly active: number
  readonly waiting: number
  /** Since the last request, 0 while there is one; null if there was none yet. */
  readonly idleMs: number | null
  /** The requests at each Pod that this gateway knows, and whether it may send it more. */
  readonly pods: Readonly<Record<string, ToldPod>>
}

export interface ToldPod {
  readonly requests: number
  readonly open: boolean
}

/**
 * One line of the stream from a gateway to the leading controller. The first frame has everything; each one after it
 * has what changed, and is sent even if nothing did: silence means that the stream is broken.
 */
export interface DemandFrame {
  /** False while the gateway has not seen the cluster yet: then it cannot tell that there is no demand. */
  readonly known: boolean
  /** Replaces everything told before. */
  readonly whole: boolean
  readonly models: Readonly<Record<string, ToldModel>>
  readonly gone: readonly string[]
}

const count = z.number().int().min(0)
const schema: z.ZodType<DemandFrame> = z.object({
  known: z.boolean(),
  whole: z.boolean(),
  models: z.record(
    z.string(),
    z.object({
      active: count,
      waiting: count,
      idleMs: z.number().min(0).nullable(),
      pods: z.record(z.string(), z.object({ requests: count, open: z.boolean() })),
    }),
  ),
  gone: z.array(z.string()),
})

/** A gateway with 10,000 models fits; what is longer is not a frame. */
export const longestFrameBytes = 8 * 1024 * 1024

/** How often a gateway speaks when nobody begins to wait. */
export const frameEveryMs = 250
/** A gateway that was not heard for this long may serve any number of requests. */
export const unheardMs = 5_000

export function encodeFrame(frame: DemandFrame): string {
  return `${JSON.stringify(frame)}\n`
}

/** Throws when it is not a frame. */
export function parseFrame(value: unknown): DemandFrame {
  return schema.parse(value)
}
