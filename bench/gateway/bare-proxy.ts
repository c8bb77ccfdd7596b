// The cost of Node's sockets without looking at the data: one connection upstream for each connection downstream.
//   node bench/gateway/bare-proxy.ts UPSTREAM_PORT → prints its port
import { connect, createServer } from 'node:net'

const upstreamPort = Number(process.argv[2])
const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({ port: upstreamPort, host: '127.0.0.1', noDelay: true })
  client.on('data', (chunk) => {
    if (!upstream.write(chunk)) client.pause()
  })
  upstream.on('drain', () => client.resume())
  upstream.on('data', (chunk) => {
    if (!client.write(chunk)) upstream.pause()
  })
  client.on('drain', () => upstream.resume())
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    one.on('close', () => other.destroy())
    one.on('error', () => other.destroy())
  }
})
server.listen(0, '127.0.0.1', 4096, () => {
  const address = server.address()
  console.log(typeof address === 'object' ? address?.port : address)
})
process.on('SIGTERM', () => process.exit(0))
