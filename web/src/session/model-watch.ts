import { failureFromResponse } from '../protocol/failure.ts'
import { parseModelList, type ModelEntry } from '../protocol/model-list.ts'

export interface ModelDirectory {
  /**
   * `loading` until the first list has arrived; `unreachable` still shows the last list; `locked` needs a key, or
   * another one.
   */
  status: 'loading' | 'listed' | 'unreachable' | 'locked'
  models: readonly ModelEntry[]
  observedAt: number
  /** Why access is refused, in the gateway's words. */
  refusal: string
}

const CALM_MS = 4_000
const WAKING_MS = 1_500
const SLOWEST_MS = 20_000
const DEADLINE_MS = 6_000

/** Keeps the list of models up to date while the page is visible, and sends nothing while it is not. */
export class ModelWatch {
  #directory: ModelDirectory = { status: 'loading', models: [], observedAt: 0, refusal: '' }
  #failures = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #asking: AbortController | undefined
  readonly #authorization: () => Record<string, string>
  readonly #changed: (directory: ModelDirectory) => void
  readonly #somebodyWaits: () => boolean

  /** While `somebodyWaits` for an answer, a model is likely to wake, and is looked at more often. */
  constructor(
    authorization: () => Record<string, string>,
    changed: (directory: ModelDirectory) => void,
    somebodyWaits: () => boolean,
  ) {
    this.#authorization = authorization
    this.#changed = changed
    this.#somebodyWaits = somebodyWaits
  }

  get directory(): ModelDirectory {
    return this.#directory
  }

  start(): void {
    document.addEventListener('visibilitychange', () => this.refresh())
    this.refresh()
  }

  /** Asks at once, because something has changed the state of a model. */
  refresh(): void {
    clearTimeout(this.#timer)
    this.#asking?.abort()
    if (document.visibilityState !== 'visible') return
    const asking = new AbortController()
    this.#asking = asking
    void this.#ask(asking.signal).then((directory) => {
      if (asking.signal.aborted) return
      this.#failures = directory.status === 'listed' ? 0 : this.#failures + 1
      this.#directory = directory
      this.#timer = setTimeout(() => this.refresh(), this.#pauseMs())
      this.#changed(directory)
    })
  }

  #pauseMs(): number {
    if (this.#failures > 0) return Math.min(SLOWEST_MS, CALM_MS * 2 ** (this.#failures - 1))
    const moving = this.#directory.models.some(({ phase }) => phase === 'Waking' || phase === 'Draining')
    return moving || this.#somebodyWaits() ? WAKING_MS : CALM_MS
  }

  async #ask(stop: AbortSignal): Promise<ModelDirectory> {
    const observedAt = Date.now()
    try {
      const signal = AbortSignal.any([stop, AbortSignal.timeout(DEADLINE_MS)])
      const headers = { accept: 'application/json', ...this.#authorization() }
      const response = await fetch('openai/v1/models', { headers, signal })
      if (response.status === 401 || response.status === 403) {
        const { message } = failureFromResponse(response.status, await response.text())
        return { status: 'locked', models: [], observedAt, refusal: message }
      }
      const models = response.ok ? parseModelList(await response.json()) : undefined
      if (models !== undefined) return { status: 'listed', models, observedAt, refusal: '' }
    } catch {
      // The status already shows it, and the next attempt follows by itself.
    }
    return { ...this.#directory, status: 'unreachable' }
  }
}
