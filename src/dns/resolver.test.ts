import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../foundation/clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { AnswerCache } from './forwarding/answer-cache.ts'
import { NamesStage, http, newService } from './names/cluster-names.fixture.ts'
import { DnsMetrics } from './dns-metrics.ts'
import { bytesOf, newQuery } from './dns-stage.fixture.ts'
import { Forwarder } from './forwarding/forwarder.ts'
import { readHead, readMessage } from './messages/message-reader.ts'
import { Resolver } from './resolver.ts'

function newResolver(): Resolver {
  const stage = new NamesStage()
  stage.services.put(newService('web', { clusterIP: '10.96.0.7', ports: [http] }))
  const common = { log: silentLogger, metrics: new DnsMetrics() }
  const forwarder = new Forwarder({
    ...common,
    clock: systemClock,
    cache: new AnswerCache(),
    upstreams: () => Promise.resolve([]),
    isOurselves: () => false,
  })
  return new Resolver({ ...common, names: stage.names, forwarder })
}

const client = { address: '10.1.0.5', transport: 'udp' } as const

describe('whatever comes in a datagram', () => {
  const resolver = newResolver()

  it('is answered with a small message of the same id, or not at all', async () => {
    const change = fc.tuple(fc.nat(60), fc.nat(255))
    const edns = { udpBytes: 1_232, version: 0, dnssecOk: false }
    const almost = fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => {
      const bytes = bytesOf(newQuery('web.default.svc.cluster.local', 'A', { edns }))
      for (const [at, value] of changes) bytes[at % bytes.length] = value
      return bytes
    })
    const any = fc.uint8Array({ maxLength: 100 }).map((some) => Buffer.from(some))
    await fc.assert(
      fc.asyncProperty(fc.oneof(any, almost), async (bytes) => {
        const answer = await resolver.answer(bytes, client)
        const answerable = bytes.length >= 12 && !readHead(bytes).response
        const read = answer && readMessage(answer)
        expect(read?.response).toBe(answerable ? true : undefined)
        expect(read?.id).toBe(answerable ? bytes.readUInt16BE(0) : undefined)
        expect(answer?.length ?? 0).toBeLessThanOrEqual(512)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is answered at once when it is about the cluster', () => {
    const answer = resolver.answer(bytesOf(newQuery('web.default.svc.cluster.local')), client)
    expect(answer).toBeInstanceOf(Buffer)
  })
})
