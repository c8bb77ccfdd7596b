// The relay before one upstream, alone in a process: as the edge over TLS, as the edge without it, or bare.
//   node bench/exposure/edge-program.ts tls|plain|relay UPSTREAM_PORT HOST KEY CERT → prints its port
import { readFileSync } from 'node:fs'
import { silentLogger } from '../../src/foundation/log.ts'
import { ExposureEdge } from '../../src/exposure/exposure-edge.ts'
import { edgeErrorAnswer } from '../../src/exposure/edge-errors.ts'
import type { Handler } from '../../src/relay/exchange.ts'
import { RelayServer } from '../../src/relay/relay-server.ts'

const [kind = '', upstreamPort = '', host = '', keyFile = '', certFile = ''] = process.argv.slice(2)
const upstream = { host: '127.0.0.1', port: Number(upstreamPort) }
const { port } = await (kind === 'relay' ? relay() : edge()).listen('127.0.0.1', 0)
console.log(port)
process.on('SIGTERM', () => process.exit(0))

function relay(): RelayServer {
  const handler: Handler = (exchange, done) => {
    exchange.forward(upstream, {}, { onDelivered: () => done(), onNotDelivered: done })
  }
  return new RelayServer({ handler, errorAnswer: edgeErrorAnswer, log: silentLogger })
}

function edge(): ExposureEdge {
  const tls = { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') }
  const made = new ExposureEdge({ log: silentLogger, ...(kind === 'tls' && { tls }) })
  const route = { host, cluster: 'c1', exporter: 'web/bench', endpoints: [upstream] }
  made.addRoutes({ find: (asked) => (asked === host ? route : undefined) })
  return made
}
