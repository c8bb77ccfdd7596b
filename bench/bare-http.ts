// Node's own HTTP with a constant answer: what there is to be had on this machine.
//   node bench/bare-http.ts BYTES → prints its port
import { createServer } from 'node:http'

const body = 'x'.repeat(Number(process.argv[2] ?? 500))
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(typeof address === 'object' ? address?.port : '')
})
process.on('SIGTERM', () => process.exit(0))
