import { SluiceError, errorMessage } from '../../../foundation/errors.ts'
import { readMetrics } from './metric-text.ts'

/** What a gateway counts of one model. */
export interface ModelFigures {
  readonly active: number
  readonly waiting: number
  /** Finished requests since the gateway started. */
  readonly requests: number
  /** Tokens that were generated since then. */
  readonly tokens: number
  /** When it goes to sleep if nobody asks until then, in milliseconds since 1970. */
  readonly sleepsAtMs: number | undefined
}

const names = {
  active: 'sluice_traffic_active_requests',
  waiting: 'sluice_traffic_waiting_requests',
  requests: 'sluice_gateway_requests_total',
  tokens: 'sluice_gateway_tokens_total',
  sleepsAt: 'sluice_autoscaler_sleeps_at_seconds',
} as const

const answerDeadlineMs = 5_000

/** The figures of all models, by name, from a gateway's `/metrics`. */
export async function fetchFigures(
  gateway: string,
  apiKey: string | undefined,
): Promise<ReadonlyMap<string, ModelFigures>> {
  try {
    const answer = await fetch(`${gateway}/metrics`, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(answerDeadlineMs),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`it answered ${answer.status}`)
    return figuresOf(text)
  } catch (error) {
    throw new SluiceError('gateway_unreachable', { gateway, reason: errorMessage(error) }, { cause: error })
  }
}

export function figuresOf(text: string): ReadonlyMap<string, ModelFigures> {
  const read = readMetrics(text, new Set(Object.values(names)))
  const sums = (name: string, holds: (labels: Readonly<Record<string, string>>) => boolean = () => true) => {
    const byModel = new Map<string, number>()
    for (const { labels, value } of read.get(name) ?? []) {
      const { model } = labels
      if (model && holds(labels)) byModel.set(model, (byModel.get(model) ?? 0) + value)
    }
    return byModel
  }
  const active = sums(names.active)
  const waiting = sums(names.waiting)
  const requests = sums(names.requests)
  const tokens = sums(names.tokens, ({ kind }) => kind === 'completion')
  const sleepsAt = sums(names.sleepsAt)
  const models = new Set([active, waiting, requests, tokens, sleepsAt].flatMap((counts) => [...counts.keys()]))
  return new Map(
    [...models].map((model) => {
      const seconds = sleepsAt.get(model)
      const figures: ModelFigures = {
        active: active.get(model) ?? 0,
        waiting: waiting.get(model) ?? 0,
        requests: requests.get(model) ?? 0,
        tokens: tokens.get(model) ?? 0,
        sleepsAtMs: seconds === undefined ? undefined : seconds * 1000,
      }
      return [model, figures]
    }),
  )
}
