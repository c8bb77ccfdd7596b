import type { Clock } from '../../../foundation/clock.ts'
import { SluiceError } from '../../../foundation/errors.ts'
import { type ConsoleRequest, answered } from '../console-routes.ts'
import type { ConsoleFeed } from './console-feed.ts'
import { LiveStream } from './live-stream.ts'

/** Each takes a connection and a little memory as long as a page is open. */
const mostStreams = 100

/** The open streams of all browsers. */
export class LiveStreams {
  readonly #feed: ConsoleFeed
  readonly #clock: Clock
  #open = 0

  constructor(feed: ConsoleFeed, clock: Clock) {
    this.#feed = feed
    this.#clock = clock
  }

  open({ response, keepOpen }: ConsoleRequest): typeof answered {
    if (this.#open >= mostStreams) throw new SluiceError('console_busy')
    let stream: LiveStream | undefined
    const unwatch = this.#feed.watch(() => stream?.tell())
    stream = new LiveStream({ response, items: this.#feed.items, clock: this.#clock })
    keepOpen()
    this.#open += 1
    response.on('close', () => {
      unwatch()
      this.#open -= 1
    })
    return answered
  }
}
