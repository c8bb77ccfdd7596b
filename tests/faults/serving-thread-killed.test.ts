import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { eventKind } from '../../src/resources/event.ts'
import { EventStream } from '../support/event-stream.ts'
import { Inspector } from '../support/inspector.ts'
import { ModelStage, namespace } from '../support/model-stage.ts'
import { until } from '../support/sluice-process.ts'
import { useStubEngine } from '../support/stub-engine.ts'

const stage = new ModelStage(['--gpus', 'nvidia.com/gpu-l40s=2', '--gateway-workers', '1'], {
  NODE_OPTIONS: '--inspect=127.0.0.1:0',
})

describe('sluice up whose serving thread ends under its streams', () => {
  beforeAll(async () => {
    useStubEngine(stage)
    await stage.start()
    await stage.create('tiny')
    await stage.untilModel('tiny', ({ status }) => status?.phase === 'Ready')
  })
  afterAll(() => stage.destroy())

  it.each([
    ['an error that nobody catches', "setImmediate(() => { throw new Error('made by a test') })", 'made by a test'],
    ['its end', 'setImmediate(() => process.exit(7))', 'the thread ended with 7'],
    ['too much memory', 'setImmediate(() => { for (const all = []; ; ) all.push(Array(1e5).fill(1.5)) })', 'memory'],
  ])('has another one soon after %s, and says so in log, metric and Event', async (_what, expression, reason) => {
    const { gateway } = stage.sluice.endpoints
    const { hostname, port } = new URL(gateway ?? '')
    const stream = (pieces: number) => new EventStream({ host: hostname, port }, 'tiny', pieces)
    const lossesBefore = await losses(gateway)
    const streams = Array.from({ length: 5 }, () => stream(100_000))
    await until('the streams to begin', 20_000, () => streams.every(({ pieces }) => pieces > 0))
    const inspector = await Inspector.connect(stage.sluice.inspectorUrl)
    onTestFinished(() => inspector.close())
    await inspector.evaluateInThread('serving-1', expression)
    expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(streams.map(() => 'broken off'))

    await until('the gateway to be there again', 20_000, () =>
      fetch(`${gateway}/readyz`, { headers: { connection: 'close' } }).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    const again = stream(3)
    expect(await again.ended).toBe('whole')
    expect(await losses(gateway)).toBe(lossesBefore + 1)
    await until('nothing to be counted for who is gone', 5_000, async () =>
      (await metricsOf(gateway)).includes('sluice_traffic_active_requests{model="tiny"} 0'),
    )
    await until('the log line', 5_000, () =>
      logged().some((line) => line.includes('a serving thread was lost') && line.includes(reason)),
    )
    await until('the Event', 10_000, async () => {
      const { items } = await stage.client.list(eventKind, { namespace })
      return items.some(
        ({ reason: why, message, involvedObject }) =>
          why === 'ServingThreadLost' && message?.includes(reason) && involvedObject.name === 'gateway',
      )
    })
  })
})

async function metricsOf(gateway: string | null): Promise<string> {
  return (await fetch(`${gateway}/metrics`, { headers: { connection: 'close' } })).text()
}

async function losses(gateway: string | null): Promise<number> {
  return Number(/^sluice_gateway_worker_losses_total (\d+)$/m.exec(await metricsOf(gateway))?.[1])
}

function logged(): string[] {
  return readFileSync(join(stage.data, 'logs/sluice.log'), 'utf8').split('\n')
}
