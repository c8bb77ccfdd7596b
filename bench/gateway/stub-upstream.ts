// A model's server that costs next to nothing, the same for every gateway that is measured.
//   node bench/gateway/stub-upstream.ts → prints its port
// A request whose body says "stream": true gets server-sent events, `x-bench-events` of them, one each 20 ms.
import { type Socket, createServer } from 'node:net'

const answerBody = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'bench',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there!' }, finish_reason: 'stop' }],
})
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answerBody.length}\r\n\r\n${answerBody}`,
)
const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const eventMs = 20

/** Events carry when they were sent, so that whoever reads them sees the delay. */
const eventText = () => {
  const content = `token ${performance.timeOrigin + performance.now()}`
  const event = `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`
  return `${event.length.toString(16)}\r\n${event}\r\n`
}

const streams = new Map<Socket, number>()
setInterval(() => {
  for (const [socket, left] of streams) {
    if (left > 0) {
      socket.write(eventText())
      streams.set(socket, left - 1)
    } else {
      socket.write('e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n')
      streams.delete(socket)
    }
  }
}, eventMs)

const server = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer | undefined
  socket.on('data', (chunk: Buffer) => {
    let data = pending ? Buffer.concat([pending, chunk]) : chunk
    pending = undefined
    while (data.length > 0) {
      const headEnd = data.indexOf('\r\n\r\n')
      if (headEnd < 0) break
      const head = data.toString('latin1', 0, headEnd)
      const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      const end = headEnd + 4 + length
      if (data.length < end) break
      if (data.subarray(headEnd, end).includes('"stream":true')) {
        socket.write(streamHead)
        streams.set(socket, Number(/x-bench-events: *(\d+)/i.exec(head)?.[1] ?? 50))
      } else {
        socket.write(answer)
      }
      data = data.subarray(end)
    }
    if (data.length > 0) pending = data
  })
  socket.on('error', () => {})
  socket.on('close', () => streams.delete(socket))
})
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', 4096, () => {
  const address = server.address()
  console.log(typeof address === 'object' ? address?.port : address)
})
process.on('SIGTERM', () => process.exit(0))
