import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { ServedUsage } from '../../resources/usage-record.ts'
import type { TokenUsage } from '../model/usage-tail.ts'
import { PromptEstimate, usualBytesPerToken } from './prompt-estimate.ts'

/** What is known of a finished request. */
export interface FinishedRequest {
  readonly route: string
  readonly model: string | undefined
  readonly key: string | undefined
  readonly status: number
  /** False if the answer broke off. */
  readonly complete: boolean
  /** What the engine reported. */
  readonly usage: TokenUsage | undefined
  /** Of a JSON body, as far as it was read. */
  readonly bodyBytes: number
  /** The events that were streamed. */
  readonly events: number
  /** Of the body of the model's answer, also of what frames its text. */
  readonly bytes: number
}

export interface UsageCounterOptions {
  readonly clock: Clock
  /** Gets what was counted since it was last told. */
  readonly tell: (served: readonly ServedUsage[]) => void
}

/** Whose answers are made of tokens; `false` where only the prompt is. Audio and pictures have none. */
const answersInTokens: ReadonlyMap<string, boolean> = new Map([
  ['chat/completions', true],
  ['completions', true],
  ['responses', true],
  ['embeddings', false],
])
/** What an answer in one piece has around its text: an id, the model, a choice. */
const frameBytes = 300
/** The status of a request whose client left. */
const clientGone = 499
const tellAfterMs = 1_000
/** As many as a record holds, twice: the record has the say in which ones are told apart. */
const mostPairs = 2_000

/** Counts what models answered, by model and key. It is told now and then, if there is anything to tell. */
export class UsageCounter {
  readonly #options: UsageCounterOptions
  readonly #prompts = new PromptEstimate()
  readonly #models = new Map<string, Map<string | undefined, ServedUsage>>()
  #pairs: ServedUsage[] = []
  #cancel: CancelTimer | undefined

  constructor(options: UsageCounterOptions) {
    this.#options = options
  }

  /** Called for every finished request. `clientLeft`: that is why its answer broke off. */
  count(request: FinishedRequest, clientLeft: boolean): void {
    const { model, key, status, complete, usage } = request
    if (model === undefined) return
    const sum = this.#sumOf(model, key)
    sum.requests++
    if (clientLeft || status === clientGone) sum.abandonedRequests++
    else if (status >= 400 || !complete) sum.failedRequests++
    if (usage) this.#addReported(sum, model, usage, request.bodyBytes)
    else if (request.events > 0) this.#addEstimated(sum, model, request, completionsOf(request))
    else if (status === 200 && complete && request.bytes > 0 && answersInTokens.has(request.route)) {
      this.#addEstimated(sum, model, request, answersInTokens.get(request.route) === true ? wholeAnswer(request) : 0)
    }
  }

  /** Tells what was not told yet. */
  close(): void {
    if (this.#cancel) this.#tell()
  }

  #addReported(sum: ServedUsage, model: string, usage: TokenUsage, bodyBytes: number): void {
    sum.promptTokens += usage.promptTokens
    sum.completionTokens += usage.completionTokens
    if (bodyBytes > 0 && usage.promptTokens > 0) this.#prompts.learn(model, bodyBytes, usage.promptTokens)
  }

  #addEstimated(sum: ServedUsage, model: string, { bodyBytes }: FinishedRequest, completionTokens: number): void {
    const promptTokens = this.#prompts.tokensOf(model, bodyBytes)
    sum.promptTokens += promptTokens
    sum.completionTokens += completionTokens
    sum.estimatedTokens += promptTokens + completionTokens
  }

  #sumOf(model: string, key: string | undefined): ServedUsage {
    const known = this.#models.get(model)?.get(key)
    if (known) return known
    if (this.#pairs.length >= mostPairs) this.#tell()
    this.#cancel ??= this.#options.clock.after(tellAfterMs, () => this.#tell())
    const sum = {
      model,
      ...(key === undefined ? {} : { key }),
      requests: 0,
      failedRequests: 0,
      abandonedRequests: 0,
      promptTokens: 0,
      completionTokens: 0,
      estimatedTokens: 0,
    }
    this.#pairs.push(sum)
    const keys = this.#models.get(model)
    if (keys) keys.set(key, sum)
    else this.#models.set(model, new Map([[key, sum]]))
    return sum
  }

  #tell(): void {
    const told = this.#pairs
    this.#cancel?.()
    this.#cancel = undefined
    this.#pairs = []
    this.#models.clear()
    this.#options.tell(told)
  }
}

/** An event is a token. The first event of a chat only says who speaks. */
function completionsOf({ route, events }: FinishedRequest): number {
  return route === 'chat/completions' ? events - 1 : events
}

/** Of an answer in one piece. */
function wholeAnswer({ bytes }: FinishedRequest): number {
  return Math.max(1, Math.round((bytes - frameBytes) / usualBytesPerToken))
}
