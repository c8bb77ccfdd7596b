import { Counter, Gauge, Registry } from 'prom-client'
import { Metrics } from '../foundation/metrics.ts'
import { LoopStall } from './llama/loop-stall.ts'

const secondsBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

/** The figures of one finished request. */
export interface RequestFigures {
  readonly endpoint: string
  readonly status: number
  readonly seconds: number
  readonly firstTokenSeconds: number | undefined
  readonly promptTokens: number
  readonly reusedTokens: number
  readonly completionTokens: number
}

/** The figures of the engine as it is now. */
export interface EngineFigures {
  readonly ready: boolean
  readonly running: number
  readonly waiting: number
  readonly loading: { readonly bytes: number; readonly totalBytes: number }
}

export class EngineMetrics {
  readonly #metrics = new Metrics()
  readonly #requests = this.#metrics.counter('sluice_engine_requests_total', 'Requests answered.', [
    'endpoint',
    'status',
  ])
  readonly #promptTokens = this.#metrics.counter('sluice_engine_prompt_tokens_total', 'Prompt tokens read.')
  readonly #reusedTokens = this.#metrics.counter(
    'sluice_engine_reused_prompt_tokens_total',
    'Prompt tokens that an earlier request had computed already.',
  )
  readonly #completionTokens = this.#metrics.counter('sluice_engine_generation_tokens_total', 'Tokens generated.')
  readonly #firstToken = this.#metrics.histogram(
    'sluice_engine_time_to_first_token_seconds',
    'From the arrival of a request to its first text.',
    secondsBuckets,
  )
  readonly #duration = this.#metrics.histogram(
    'sluice_engine_request_seconds',
    'From the arrival of a request to the end of its answer.',
    secondsBuckets,
    ['endpoint'],
  )
  readonly #running = this.#metrics.gauge('sluice_engine_running_requests', 'Requests that generate now.')
  readonly #waiting = this.#metrics.gauge('sluice_engine_waiting_requests', 'Requests that wait for a free sequence.')
  readonly #ready = this.#metrics.gauge('sluice_engine_ready', '1 when the model can answer.')
  readonly #loadedBytes = this.#metrics.gauge(
    'sluice_engine_loaded_bytes',
    'Bytes of the model that are loaded: of those to be read, and then of those to be put where they are computed with.',
  )
  readonly #modelBytes = this.#metrics.gauge('sluice_engine_model_bytes', "Bytes of the model's files.")
  readonly #stall = this.#metrics.gauge(
    'sluice_engine_longest_stall_seconds',
    'Longest time that the event loop did not turn, since this was last asked for.',
  )
  readonly #loop = new LoopStall()

  readonly #vllm: VllmMetrics

  constructor(modelName: string) {
    this.#metrics.includeProcess()
    this.#vllm = new VllmMetrics(modelName)
  }

  finished(figures: RequestFigures): void {
    this.#requests.inc({ endpoint: figures.endpoint, status: String(figures.status) })
    this.#duration.observe({ endpoint: figures.endpoint }, figures.seconds)
    this.#promptTokens.inc(figures.promptTokens)
    this.#reusedTokens.inc(figures.reusedTokens)
    this.#completionTokens.inc(figures.completionTokens)
    this.#vllm.finished(figures)
    if (figures.firstTokenSeconds !== undefined) this.#firstToken.observe(figures.firstTokenSeconds)
  }

  get contentType(): string {
    return this.#metrics.contentType
  }

  async text(now: EngineFigures): Promise<string> {
    this.#loadedBytes.set(now.loading.bytes)
    this.#modelBytes.set(now.loading.totalBytes)
    this.#ready.set(now.ready ? 1 : 0)
    this.#running.set(now.running)
    this.#waiting.set(now.waiting)
    this.#stall.set(this.#loop.takeSeconds())
    return `${await this.#metrics.text()}${await this.#vllm.text(now)}`
  }
}

/** The same figures under the names that vLLM uses, for dashboards and autoscalers made for it. */
class VllmMetrics {
  readonly #registry = new Registry()
  readonly #model: { readonly model_name: string }
  readonly #running = this.#gauge('vllm:num_requests_running', 'Requests that generate now.')
  readonly #waiting = this.#gauge('vllm:num_requests_waiting', 'Requests that wait for a free sequence.')
  readonly #promptTokens = this.#counter('vllm:prompt_tokens_total', 'Prompt tokens read.')
  readonly #completionTokens = this.#counter('vllm:generation_tokens_total', 'Tokens generated.')

  constructor(modelName: string) {
    this.#model = { model_name: modelName }
  }

  finished({ promptTokens, completionTokens }: RequestFigures): void {
    this.#promptTokens.inc(this.#model, promptTokens)
    this.#completionTokens.inc(this.#model, completionTokens)
  }

  text({ running, waiting }: { running: number; waiting: number }): Promise<string> {
    this.#running.set(this.#model, running)
    this.#waiting.set(this.#model, waiting)
    return this.#registry.metrics()
  }

  #gauge(name: string, help: string): Gauge<'model_name'> {
    return new Gauge({ name, help, labelNames: ['model_name'], registers: [this.#registry] })
  }

  #counter(name: string, help: string): Counter<'model_name'> {
    return new Counter({ name, help, labelNames: ['model_name'], registers: [this.#registry] })
  }
}
