import { parseJson } from '../../../src/protocol/json-value.ts'
import { asShape } from '../api/as-shape.ts'
import type { Change } from './console-state.ts'

export interface LiveListener {
  onChange(change: Change, isWhole: boolean): void
  /** Whether changes arrive. The browser tries again by itself. */
  onConnected(connected: boolean): void
  /** The server refused the stream, most likely because nobody is logged in any more. */
  onRefused(): void
}

/** The one stream by which everything that is shown stays current. */
export class LiveConnection {
  readonly #source: EventSource

  constructor(url: string, listener: LiveListener) {
    const source = new EventSource(url)
    this.#source = source
    const hear = (isWhole: boolean) => (event: MessageEvent<string>) => {
      listener.onChange(asShape<Change>(parseJson(event.data)), isWhole)
    }
    source.addEventListener('whole', hear(true))
    source.addEventListener('change', hear(false))
    source.addEventListener('open', () => listener.onConnected(true))
    source.addEventListener('error', () => {
      listener.onConnected(false)
      if (source.readyState === EventSource.CLOSED) listener.onRefused()
    })
  }

  close(): void {
    this.#source.close()
  }
}
