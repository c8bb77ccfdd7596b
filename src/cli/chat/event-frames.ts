/** A frame of a stream of server-sent events: data, or a comment. What is no such stream at all is data, too. */
export interface EventFrame {
  readonly data: string
  readonly comment: string
}

/** What is no event stream has no line ends; it must not fill the memory. */
const longestFrame = 8 * 1024 * 1024

const frameEnd = /\r?\n\r?\n/

/** Reads server-sent events as they come. A frame ends with an empty line. */
export async function* eventFrames(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<EventFrame> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of bytes) {
    rest += decoder.decode(chunk, { stream: true })
    for (let end = frameEnd.exec(rest); end !== null; end = frameEnd.exec(rest)) {
      yield frameOf(rest.slice(0, end.index))
      rest = rest.slice(end.index + end[0].length)
    }
    if (rest.length > longestFrame) throw new Error('the answer is no stream of events')
  }
  if (rest.trim() !== '') yield rest.startsWith('{') ? { data: rest, comment: '' } : frameOf(rest)
}

function frameOf(text: string): EventFrame {
  const lines = text.split(/\r?\n/)
  const of = (prefix: string) =>
    lines
      .filter((line) => line.startsWith(prefix))
      .map((line) => line.slice(prefix.length).replace(/^ /, ''))
      .join('\n')
  return { data: of('data:'), comment: of(':') }
}
