import { SluiceError, errorMessage } from '../foundation/errors.ts'
import type { LanguageModel } from './llama/language-model.ts'
import type { LoadReport } from './loading/load-progress.ts'

type Phase =
  | { readonly name: 'loading' }
  | { readonly name: 'ready'; readonly model: LanguageModel }
  | { readonly name: 'failed'; readonly reason: string }
  | { readonly name: 'stopping' }

/** Whether the engine can answer, and how many requests it is answering. */
export class EngineState {
  readonly modelName: string
  readonly #report: () => LoadReport
  #phase: Phase = { name: 'loading' }
  readonly #inFlight = new Set<object>()
  #whenIdle: (() => void)[] = []

  constructor(modelName: string, report: () => LoadReport) {
    this.modelName = modelName
    this.#report = report
  }

  loaded(model: LanguageModel): void {
    if (this.#phase.name === 'loading') this.#phase = { name: 'ready', model }
  }

  loadFailed(error: unknown): void {
    if (this.#phase.name === 'loading') this.#phase = { name: 'failed', reason: errorMessage(error) }
  }

  stopping(): void {
    this.#phase = { name: 'stopping' }
  }

  get ready(): boolean {
    return this.#phase.name === 'ready'
  }

  /** How far the model is loaded. */
  get loading(): LoadReport {
    return this.#report()
  }

  get load(): LanguageModel['load'] {
    return this.#phase.name === 'ready' ? this.#phase.model.load : { running: this.#inFlight.size, waiting: 0 }
  }

  /** The loaded model. Throws the reason when there is none to answer with. */
  requireModel(): LanguageModel {
    switch (this.#phase.name) {
      case 'ready':
        return this.#phase.model
      case 'loading':
        throw new SluiceError('engine_loading', {
          model: this.modelName,
          percent: percentOf(this.#report()),
          retryAfterSeconds: 1,
        })
      case 'failed':
        throw new SluiceError('model_unavailable', { model: this.modelName, reason: this.#phase.reason })
      case 'stopping':
        throw new SluiceError('stopping')
      default:
        throw new SluiceError('internal_error')
    }
  }

  /** The answer to `GET /health`. */
  health(): { status: 200 | 503; body: object } {
    const phase = this.#phase
    if (phase.name === 'ready') return { status: 200, body: { status: 'ready', model: this.modelName } }
    const detail = phase.name === 'loading' ? this.#report() : phase.name === 'failed' ? { reason: phase.reason } : {}
    return { status: 503, body: { status: phase.name, model: this.modelName, ...detail } }
  }

  /** Counts a request in; the returned function counts it out again. */
  enter(): () => void {
    const request = {}
    this.#inFlight.add(request)
    return () => {
      this.#inFlight.delete(request)
      if (this.#inFlight.size > 0) return
      for (const wake of this.#whenIdle.splice(0)) wake()
    }
  }

  /** Resolves once no request is being answered. */
  idle(): Promise<void> {
    if (this.#inFlight.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#whenIdle.push(resolve)
    })
  }
}

function percentOf({ bytes, totalBytes }: LoadReport): number {
  return totalBytes > 0 ? Math.floor((bytes / totalBytes) * 100) : 0
}
