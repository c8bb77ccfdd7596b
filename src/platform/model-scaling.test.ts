import * as http from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../foundation/log.ts'
import { Gateway } from '../gateway/gateway.ts'
import { modelKind } from '../resources/model.ts'
import { idleWindowAnnotation } from '../resources/model-labels.ts'
import { ClusterModelCatalog } from '../traffic/model-catalog.ts'
import { ScalingStage, streamingEngines } from './scaling-stage.fixture.ts'

const never = new AbortController().signal
const ref = { namespace: 'sluice', name: 'tiny' }

/** Pseudo-random numbers that are the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

describe('a request that races the reclaim', () => {
  it('is served, a thousand times, at whatever moment it comes', async () => {
    const stage = await ScalingStage.start()
    await stage.createModel('tiny', { scaleDownDelaySeconds: 0 }, { [idleWindowAnnotation]: '2' })
    const random = randomNumbers(7)
    const errors: string[] = []
    const pods = new Set<string>()
    let recalled = 0
    let last = ''
    for (let round = 0; round < 1_000; round++) {
      // After the last answer, the idle window ends after 2 s, and draining about a second later.
      await stage.clock.advance(1_500 + Math.floor(random() * 2_500))
      let outcome: Awaited<ReturnType<typeof stage.pool.reserve>> | Error | undefined
      stage.pool.reserve('tiny', {}, never).then(
        (seat) => (outcome = seat),
        (error: unknown) => (outcome = error instanceof Error ? error : new Error(String(error))),
      )
      await stage.until('a seat', () => outcome !== undefined)
      if (outcome === undefined || outcome instanceof Error) {
        errors.push(`round ${round}: ${outcome?.message ?? 'nothing'}`)
        continue
      }
      if (!stage.isServing(outcome.endpoint)) errors.push(`round ${round}: its Pod was gone`)
      await stage.clock.advance(Math.floor(random() * 2_000))
      if (!stage.isServing(outcome.endpoint)) errors.push(`round ${round}: its Pod went while it was served`)
      if (outcome.endpoint === last) recalled++
      last = outcome.endpoint
      pods.add(last)
      outcome.release()
    }
    expect(errors).toEqual([])
    // Enough Pods came and went that both outcomes of the race occurred.
    expect(pods.size).toBeGreaterThan(50)
    expect(recalled).toBeGreaterThan(50)
  }, 180_000)

  it('is served though the autoscaler is started anew in the middle', async () => {
    const stage = await ScalingStage.start()
    await stage.createModel('tiny', { scaleDownDelaySeconds: 0 }, { [idleWindowAnnotation]: '2' })
    const random = randomNumbers(11)
    for (let round = 0; round < 40; round++) {
      await stage.clock.advance(1_500 + Math.floor(random() * 2_500))
      let endpoint = ''
      const serving = stage.pool.reserve('tiny', {}, never).then((seat) => {
        endpoint = seat.endpoint
        seat.release()
      })
      await stage.restartAutoscaler()
      await stage.until('a seat', () => endpoint !== '')
      await serving
    }
    await stage.clock.advance(10_000)
    expect(stage.pods.list()).toEqual([])
    expect(stage.models.get(ref)?.status?.phase).toBe('Asleep')
  }, 30_000)
})

describe('scaling down with live streams', () => {
  it('cuts none of 500, sends new requests elsewhere, and takes the Pods when their streams have ended', async () => {
    const { start, streams, endAll } = streamingEngines()
    const stage = await ScalingStage.start(start)
    const { pool, models, clock, client } = stage
    const catalog = new ClusterModelCatalog({ models, namespace: 'sluice' })
    const gateway = new Gateway({ catalog, pool, log: silentLogger, clock })
    onTestFinished(() => gateway.close({ graceMs: 0 }))
    const { port } = await gateway.listen('127.0.0.1', 0)
    await stage.createModel('tiny', { maxReplicas: 4, targetRequests: 125, replicas: 4 })
    await stage.until('four Pods', () => models.get(ref)?.status?.readyReplicas === 4)

    const answers = Array.from({ length: 500 }, () => readStream(port))
    await turnsUntil(() => streams.size === 500)
    expect([...pool.inFlightByEndpoint('tiny').values()]).toEqual([125, 125, 125, 125])

    await client.patch(modelKind, ref, { spec: { maxReplicas: 1 } })
    await clock.advance(300_000)
    expect(models.get(ref)?.spec.replicas).toBe(1)
    expect(stage.pods.list()).toHaveLength(4)
    expect(streams.size).toBe(500)
    const late = await Promise.all([1, 2, 3].map(() => pool.reserve('tiny', {}, never)))
    expect(new Set(late.map(({ endpoint }) => endpoint)).size).toBe(1)
    for (const seat of late) seat.release()

    endAll()
    const bodies = await Promise.all(answers)
    expect(bodies.filter((body) => !body.endsWith('data: [DONE]\n\n'))).toEqual([])
    await turnsUntil(() => pool.sample('tiny')?.active === 0)
    await stage.until('one Pod', () => stage.pods.list().length === 1)
  }, 30_000)
})

/** Lets sockets work while the clock stands still. */
async function turnsUntil(holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn++) {
    if (turn > 200_000) throw new Error('it did not happen')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function readStream(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const where = {
      host: '127.0.0.1',
      port,
      path: '/openai/v1/chat/completions',
      method: 'POST',
      headers,
      agent: false,
    }
    const request = http.request(where, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (piece: string) => (body += piece))
      response.on('end', () => resolve(body))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(JSON.stringify({ model: 'tiny', stream: true, messages: [{ role: 'user', content: 'hello' }] }))
  })
}
