import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isPodReady } from '../../resources/pod.ts'
import { AgentStage, statusOf } from '../agent-stage.fixture.ts'

let stage: AgentStage
beforeEach(async () => {
  stage = await new AgentStage('detect').prepare()
})
afterEach(() => stage.close())

/** A server whose service `ready` serves, and whose service `live` does until it has been asked three times. */
const healthServer = `
  let asked = 0
  const server = require('node:http2').createServer()
  server.on('stream', (stream) => {
    const chunks = []
    stream.on('error', () => {})
    stream.on('data', (chunk) => chunks.push(chunk))
    stream.on('end', () => {
      const service = Buffer.concat(chunks).subarray(7).toString()
      const serves = service === 'ready' || (service === 'live' && ++asked < 3)
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': 0 }))
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, serves ? 1 : 2]))
    })
  })
  server.listen(8000, process.env.POD_IP)`
const server = { command: [process.execPath, '-e'], args: [healthServer] }
const asking = (service: string) => ({ grpc: { port: 8000, service }, periodSeconds: 1 })

describe('a Pod with gRPC probes', () => {
  it('is started and ready when its services say that they serve', async () => {
    await stage.create('serves', '', {
      ...server,
      startupProbe: { ...asking('ready'), failureThreshold: 30 },
      readinessProbe: asking('ready'),
    })
    expect(statusOf(await stage.until('serves', isPodReady))?.started).toBe(true)
  })

  it('is not ready while its service does not serve, and says so', async () => {
    await stage.create('unready', '', { ...server, readinessProbe: asking('other') })
    await expect
      .poll(() => stage.events('unready'), { timeout: 15_000 })
      .toContainEqual('Unhealthy: Readiness probe failed: service unhealthy (responded with "NOT_SERVING")')
    expect(isPodReady(await stage.pod('unready'))).toBe(false)
  })

  it('is restarted when its service stops serving', async () => {
    const livenessProbe = { ...asking('live'), failureThreshold: 1 }
    await stage.create('dies', '', { ...server, livenessProbe }, { terminationGracePeriodSeconds: 1 })
    await stage.until('dies', (pod) => (statusOf(pod)?.restartCount ?? 0) > 0)
    await expect
      .poll(() => stage.events('dies'))
      .toContainEqual('Killing: Container main failed liveness probe, will be restarted')
  })
})
