// A model server that costs almost nothing, the same for every gateway that is measured.
//   node bench/gateway/stub-upstream.ts [ADDRESSES] [HOST] → prints its port
// A request whose body says "stream": true gets server-sent events, `x-bench-events` of them, one every 50 ms.
import { type Socket, createServer } from 'node:net'
import { modelAddress } from './bench-models.ts'

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
const eventMs = 50
const tickMs = 5

/** Events contain the time at which they were sent, so that readers can compute the delay. */
const eventText = () => {
  const content = `token ${performance.timeOrigin + performance.now()}`
  const event = `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`
  return `${event.length.toString(16)}\r\n${event}\r\n`
}

// Streams are served in turn. All of them at the same instant would measure how fast a backlog is worked off, not the
// delay of a stream.
const slots = Array.from({ length: eventMs / tickMs }, () => new Map<Socket, number>())
let [nextSlot, now] = [0, 0]
setInterval(() => {
  const slot = slots[now++ % slots.length]
  for (const [socket, left] of slot ?? []) {
    if (left > 0) {
      socket.write(eventText())
      slot?.set(socket, left - 1)
    } else {
      socket.write('e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n')
      slot?.delete(socket)
    }
  }
}, tickMs)

function startStream(socket: Socket, events: number): void {
  const slot = slots[nextSlot++ % slots.length]
  socket.write(streamHead)
  slot?.set(socket, events)
  socket.once('close', () => slot?.delete(socket))
}

function serve(socket: Socket): void {
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
        startStream(socket, Number(/x-bench-events: *(\d+)/i.exec(head)?.[1] ?? 50))
      } else {
        socket.write(answer)
      }
      data = data.subarray(end)
    }
    if (data.length > 0) pending = data
  })
  socket.on('error', () => {})
}

/** Listens on the same port at every address: each model has its own address, and all of them end here. */
function listen(address: string, port: number): Promise<number> {
  const server = createServer({ noDelay: true }, serve)
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(port, address, 4096, () => {
      const bound = server.address()
      resolve(typeof bound === 'object' && bound ? bound.port : 0)
    })
  })
}

const port = await listen(process.argv[3] ?? modelAddress(0), 0)
for (let index = 1; index < Number(process.argv[2] ?? 1); index++) await listen(modelAddress(index), port)
console.log(port)
process.on('SIGTERM', () => process.exit(0))
