import type { ResponseStream } from './exchange.ts'
import type { ForwardSide } from './forward-side.ts'
import type { HeaderField } from './header-field.ts'
import { forwardedFields } from './response-fields.ts'
import type { ParsedResponse } from './response-head.ts'

export interface BodyEnd {
  readonly trailers: readonly HeaderField[]
}

/** Where an upstream's response goes. */
export interface ResponseSink {
  /** Whether something can still be added after the upstream broke off. */
  readonly openEnded: boolean
  begin(response: ParsedResponse, firstByteAt: number): void
  /** A returned promise resolves when there is room for more, or, at the end, when all is handed over. */
  body(pieces: readonly Buffer[], end: BodyEnd | undefined, framed?: Buffer): Promise<void> | undefined
}

/** The client's own connection: head and body as the upstream sent them. */
export class ClientSink implements ResponseSink {
  readonly #side: ForwardSide
  readonly #headers: readonly HeaderField[] | undefined

  constructor(side: ForwardSide, headers: readonly HeaderField[] | undefined) {
    this.#side = side
    this.#headers = headers
  }

  get openEnded(): boolean {
    return this.#side.writer.openEnded
  }

  begin(response: ParsedResponse, firstByteAt: number): void {
    const fields = forwardedFields(response, this.#headers)
    this.#side.writer.begin(response.head.status, fields, fields.contentLength, firstByteAt)
  }

  body(pieces: readonly Buffer[], end: BodyEnd | undefined, framed?: Buffer): Promise<void> | undefined {
    const { writer } = this.#side
    if (!framed || !writer.chunks(framed)) writer.pieces(pieces)
    if (end && !writer.end(end.trailers)) this.#side.cut()
    return writer.flush() ? undefined : this.#side.drained()
  }
}

/** A response already begun: only the body goes there. */
export class StreamSink implements ResponseSink {
  readonly openEnded = true
  readonly #stream: ResponseStream

  constructor(stream: ResponseStream) {
    this.#stream = stream
  }

  begin(): void {}

  body(pieces: readonly Buffer[], end: BodyEnd | undefined): Promise<void> | undefined {
    return pieces.length === 0 && !end ? undefined : this.#send(pieces, end !== undefined)
  }

  async #send(pieces: readonly Buffer[], end: boolean): Promise<void> {
    const [first] = pieces
    if (first) await this.#stream.write(pieces.length === 1 ? first : Buffer.concat(pieces))
    if (end) await this.#stream.end()
  }
}
