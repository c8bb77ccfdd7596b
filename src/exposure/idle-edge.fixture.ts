// An edge alone in a process, to see what its connections take.
//   node idle-edge.fixture.ts HOST KEY CERT → prints its port, and for each line it reads how much memory it has
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { silentLogger } from '../foundation/log.ts'
import { ExposureEdge } from './exposure-edge.ts'

const [host = '', keyFile = '', certFile = ''] = process.argv.slice(2)
const tls = { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') }
const edge = new ExposureEdge({ log: silentLogger, tls })
edge.addRoutes({
  find: (asked) => (asked === host ? { host, cluster: 'c1', exporter: 'web/e', endpoints: [] } : undefined),
})
const { port } = await edge.listen('127.0.0.1', 0)
console.log(port)
for await (const _line of createInterface(process.stdin)) {
  globalThis.gc?.()
  console.log(process.memoryUsage().rss)
}
await edge.close({ graceMs: 0 })
