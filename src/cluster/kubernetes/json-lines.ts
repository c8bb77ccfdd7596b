/** Parses a stream of bytes as one JSON value per line. A line over the limit is refused, not buffered. */
export async function* jsonLines(chunks: AsyncIterable<Buffer>, longestLine: number): AsyncGenerator {
  let pieces: Buffer[] = []
  let size = 0
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      const line = Buffer.concat([...pieces, chunk.subarray(start, end)]).toString('utf8')
      pieces = []
      size = 0
      start = end + 1
      if (line.trim() !== '') yield JSON.parse(line)
    }
    if (start === chunk.length) continue
    pieces.push(chunk.subarray(start))
    size += chunk.length - start
    if (size > longestLine) throw new Error(`a line of the stream is longer than ${longestLine} bytes`)
  }
}
