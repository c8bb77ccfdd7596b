import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { EventStream } from '../support/event-stream.ts'
import { Inspector } from '../support/inspector.ts'
import { ModelStage } from '../support/model-stage.ts'
import { until } from '../support/sluice-process.ts'
import { useStubEngine } from '../support/stub-engine.ts'

const stage = new ModelStage(['--gpus', 'nvidia.com/gpu-l40s=2', '--gateway-workers', '1'], {
  NODE_OPTIONS: '--inspect=127.0.0.1:0',
})
const blockMs = 10_000
/** Streams last 16 s: they begin before the main thread is blocked, and end after. */
const pieces = 800
const mostMs = 250

describe('sluice up whose main thread is stuck for ten seconds', () => {
  beforeAll(async () => {
    useStubEngine(stage)
    await stage.start()
    await stage.create('awake')
    await stage.create('asleep', { minReplicas: 0 })
    await stage.untilModel('awake', ({ status }) => status?.phase === 'Ready')
  })
  afterAll(() => stage.destroy())

  it('goes on to serve what is awake, at the gateway and at the exposed host, and tells who waits so', async () => {
    const { gateway, gatewayExposed, ca } = stage.sluice.endpoints
    const direct = addressOf(gateway)
    const exposed = { ...addressOf(gatewayExposed), host: '127.0.0.1', ca: readFileSync(ca, 'utf8') }
    const streams = Array.from({ length: 10 }, (_, at) => new EventStream(at % 2 ? exposed : direct, 'awake', pieces))
    await until('the streams to begin', 10_000, () => streams.every((stream) => stream.pieces > 20))
    const machine = watchMachine()
    const inspector = await Inspector.connect(stage.sluice.inspectorUrl)
    onTestFinished(() => inspector.close())
    let blocked = true
    const block = inspector
      .evaluate(`for (const end = Date.now() + ${blockMs}; Date.now() < end; );`)
      .then(() => (blocked = false))
    await until('the log to say so', blockMs, () => logged().includes('the main loop has not turned for'))

    const sleeper = new EventStream(direct, 'asleep', 5)
    const get = async (path: string) => {
      const { status } = await fetch(gateway + path, { headers: { connection: 'close' } })
      return [path, status, blocked]
    }
    const paths = ['/openai/v1/models', '/healthz', '/readyz', '/', '/metrics']
    expect(await Promise.all(paths.map(get))).toEqual([
      ['/openai/v1/models', 200, true],
      ['/healthz', 200, true],
      ['/readyz', 200, true],
      ['/', 200, true],
      // The sum over all threads is not known, and the answer says so instead of giving a part of it.
      ['/metrics', 503, true],
    ])
    const late = new EventStream(exposed, 'awake', 5)
    expect(await late.ended).toBe('whole')
    await until('the sleeper to be told', blockMs, () => sleeper.text.startsWith(': waking asleep'))
    expect(blocked).toBe(true)

    await block
    expect(await sleeper.ended).toBe('whole')
    expect(sleeper.pieces).toBe(5)
    expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(streams.map(() => 'whole'))
    expect(streams.map((stream) => stream.pieces)).toEqual(streams.map(() => pieces))
    // On its way a piece waits for the machine three times: at the model's server, the gateway and here.
    expect(Math.max(...streams.map(({ longestMs }) => longestMs))).toBeLessThan(mostMs + 3 * machine.longestMs())
    await until('the log to say what it was', 10_000, () => logged().includes('the main loop turns again after'))
    const stalls = [...logged().matchAll(/"loop":"main","stallMs":(\d+)/g)].map(([, ms]) => Number(ms))
    expect(Math.max(...stalls)).toBeGreaterThan(blockMs - 1_000)
    const metrics = await (await fetch(`${gateway}/metrics`)).text()
    expect(metrics).toMatch(/^sluice_loop_longest_stall_seconds\{loop="main"\} (?:9|1\d)/m)
    expect(metrics).toMatch(
      /^sluice_exposure_requests_total\{cluster="[^"]+",exporter="sluice\/\S+",status="200"\} 6$/m,
    )
  })
})

function logged(): string {
  return readFileSync(join(stage.data, 'logs/sluice.log'), 'utf8')
}

function addressOf(url: string | null) {
  const { protocol, hostname, port, host } = new URL(url ?? '')
  return { protocol, host: hostname, port, servername: hostname, headers: { host } }
}

/** Measures how long this process itself was delayed: delays that the machine causes are not the gateway's. */
function watchMachine() {
  let longest = 0
  let last = Date.now()
  const timer = setInterval(() => {
    longest = Math.max(longest, Date.now() - last)
    last = Date.now()
  }, 10)
  onTestFinished(() => clearInterval(timer))
  return { longestMs: () => longest }
}
