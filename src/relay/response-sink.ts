import type { ForwardOptions, HeaderPairs, ResponseStream } from './exchange.ts'
import type { ForwardSide } from './forward-side.ts'
import { responseFields } from './forward-headers.ts'
import type { ParsedResponse } from './response-head.ts'

/** Where an upstream's response goes. */
export interface ResponseSink {
  /** Whether something can still be added after the upstream broke off. */
  readonly openEnded: boolean
  begin(response: ParsedResponse): void
  /** A returned promise resolves when there is room for more, or, at the end, when all is handed over. */
  body(pieces: readonly Buffer[], end: { trailers: HeaderPairs } | undefined): Promise<void> | undefined
}

/** The client's own connection: head and body as the upstream sent them. */
export function clientSink(side: ForwardSide, headers: ForwardOptions['responseHeaders']): ResponseSink {
  const { writer } = side
  return {
    get openEnded() {
      return writer.openEnded
    },
    begin(response) {
      const length = response.body.kind === 'length' ? response.body.length : undefined
      writer.begin(response.head.status, responseFields(response.head, response.facts, headers), length)
    },
    body(pieces, end) {
      writer.pieces(pieces)
      if (end && !writer.end(end.trailers)) side.cut()
      return writer.flush() ? undefined : side.drained()
    },
  }
}

/** A response already begun: only the body goes there. */
export function streamSink(stream: ResponseStream): ResponseSink {
  const send = async (pieces: readonly Buffer[], end: boolean) => {
    const [first] = pieces
    if (first) await stream.write(pieces.length === 1 ? first : Buffer.concat(pieces))
    if (end) await stream.end()
  }
  return {
    openEnded: true,
    begin: () => {},
    body: (pieces, end) => (pieces.length === 0 && !end ? undefined : send(pieces, end !== undefined)),
  }
}
