import { SluiceError, errorMessage } from '../../../foundation/errors.ts'
import type { PullView } from '../console-shapes.ts'
import type { ConsoleRequest, ConsoleRoute } from '../console-routes.ts'
import type { FurtherItems } from '../live/console-feed.ts'

const mostAtOnce = 4
/** Of those that are over, so that one can read how they ended. */
const mostRemembered = 20

/** One model whose files are on their way. */
export interface Arrival {
  /** Aborted when somebody stops it, or the server stops. */
  readonly signal: AbortSignal
  readonly progress: (bytes: number, totalBytes: number) => void
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

interface Entry {
  readonly view: PullView
  readonly stop: AbortController
}

/** Models whose files are on their way here, or were: fetched or uploaded, for everybody who watches. */
export class Arrivals implements FurtherItems {
  readonly prefix = 'pull/'
  readonly #entries = new Map<string, Entry>()
  /** Told when anything here has changed. */
  onChange: () => void = () => {}

  readonly routes: readonly ConsoleRoute[] = [
    { method: 'DELETE', pattern: 'pulls/:model', run: (asked) => this.#end(asked) },
  ]

  readonly list = (): ReadonlyMap<string, PullView> =>
    new Map([...this.#entries].map(([name, { view }]) => [name, view]))

  /** Throws if it is on its way already, or too much is. */
  require(name: string): void {
    const running = [...this.#entries.values()].filter(({ view }) => view.state === 'fetching')
    if (running.some(({ view }) => view.name === name)) {
      throw new SluiceError('console_arrivals', { reason: `${name} is on its way already` })
    }
    if (running.length >= mostAtOnce) {
      throw new SluiceError('console_arrivals', { reason: `${mostAtOnce} models are on their way, which is the most` })
    }
  }

  begin(name: string, source: string, way: PullView['way']): Arrival {
    this.require(name)
    const stop = new AbortController()
    let view: PullView = { name, source, way, state: 'fetching', bytes: 0, totalBytes: 0, message: undefined }
    const show = (news: Partial<PullView>) => {
      view = { ...view, ...news }
      this.#entries.set(name, { view, stop })
      this.onChange()
    }
    // The newest is the last to be forgotten.
    this.#entries.delete(name)
    show({})
    return {
      signal: stop.signal,
      progress: (bytes, totalBytes) => show({ bytes, totalBytes }),
      done: () => {
        show({ state: 'done' })
        this.#forgetOldest()
      },
      failed: (error) => {
        show({ state: 'failed', message: errorMessage(error) })
        this.#forgetOldest()
      },
    }
  }

  stop(): void {
    for (const { stop } of this.#entries.values()) stop.abort(new Error('sluice stops'))
  }

  /** Stops what goes on, and forgets what is over. */
  #end(asked: ConsoleRequest): object {
    const name = asked.param('model')
    const entry = this.#entries.get(name)
    if (!entry) throw new SluiceError('console_object_missing', { what: 'download', name })
    entry.stop.abort(new Error('stopped by hand'))
    if (entry.view.state !== 'fetching') this.#entries.delete(name)
    this.onChange()
    return {}
  }

  #forgetOldest(): void {
    const over = [...this.#entries.values()].filter(({ view }) => view.state !== 'fetching')
    for (const { view } of over.slice(0, -mostRemembered)) this.#entries.delete(view.name)
  }
}
