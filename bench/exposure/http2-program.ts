// Node's own HTTP/2 over TLS before the same upstream, the least that a bridge to HTTP/1.1 can do.
//   node bench/exposure/http2-program.ts UPSTREAM_PORT KEY CERT → prints its port
import { readFileSync } from 'node:fs'
import { Agent, request as ask } from 'node:http'
import { createSecureServer } from 'node:http2'

const [upstreamPort = '', keyFile = '', certFile = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })
const server = createSecureServer({ key: readFileSync(keyFile), cert: readFileSync(certFile) })
server.on('stream', (stream, headers) => {
  const path = headers[':path'] ?? '/'
  const forwarded = ask({ host: '127.0.0.1', port: Number(upstreamPort), path, agent }, (answer) => {
    stream.respond({ ':status': answer.statusCode ?? 0, 'content-type': answer.headers['content-type'] })
    answer.pipe(stream)
  })
  forwarded.on('error', () => stream.close())
  forwarded.end()
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(typeof address === 'object' ? address?.port : '')
})
process.on('SIGTERM', () => process.exit(0))
