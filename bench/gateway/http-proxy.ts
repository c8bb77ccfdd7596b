// A proxy written in the usual way with Node's own HTTP server and client.
//   node bench/gateway/http-proxy.ts UPSTREAM_PORT → prints its port
import { Agent, createServer, request } from 'node:http'

const port = Number(process.argv[2])
const agent = new Agent({ keepAlive: true, maxSockets: 4096 })
const server = createServer((incoming, outgoing) => {
  const { method, url: path, headers } = incoming
  const up = request({ host: '127.0.0.1', port, method, path, headers, agent }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers)
    response.pipe(outgoing)
  })
  up.on('error', () => outgoing.destroy())
  incoming.pipe(up)
})
server.listen(0, '127.0.0.1', 4096, () => {
  const address = server.address()
  console.log(typeof address === 'object' ? address?.port : address)
})
process.on('SIGTERM', () => process.exit(0))
