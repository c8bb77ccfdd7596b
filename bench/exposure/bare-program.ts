// The least that Node can do over TLS, and without it: one answer for whatever arrives. The difference is what TLS
// costs.
//   node bench/exposure/bare-program.ts tls|plain KEY CERT → prints its port
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import * as tls from 'node:tls'

const [kind = '', keyFile = '', certFile = ''] = process.argv.slice(2)
const body = 'x'.repeat(200)
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
)
const serve = (socket: Socket) => {
  socket.on('data', () => void socket.write(answer))
  socket.on('error', () => socket.destroy())
}
const server =
  kind === 'tls'
    ? tls.createServer({ key: readFileSync(keyFile), cert: readFileSync(certFile), noDelay: true }, serve)
    : createServer({ noDelay: true }, serve)
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(typeof address === 'object' ? address?.port : '')
})
process.on('SIGTERM', () => process.exit(0))
