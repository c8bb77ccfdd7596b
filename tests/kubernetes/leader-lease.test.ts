import { describe, expect, it } from 'vitest'
import { LeaderLease } from '../../src/cluster/leader/leader-lease.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import { silentLogger } from '../../src/foundation/log.ts'
import { leaseKind } from '../../src/resources/lease.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  describe('a leader lease', () => {
    it('is held by one of two, and by the other when the first lets it go', async () => {
      const leading: string[] = []
      const led = { a: Promise.withResolvers<void>(), b: Promise.withResolvers<void>() }
      const candidate = (identity: 'a' | 'b', signal: AbortSignal) =>
        new LeaderLease({
          client: server.client,
          namespace: server.namespace,
          name: 'controllers',
          identity,
          clock: systemClock,
          log: silentLogger,
          durationMs: 30_000,
          renewDeadlineMs: 20_000,
          retryMs: 100,
        }).run(async (lost) => {
          leading.push(identity)
          led[identity].resolve()
          await new Promise<void>((resolve) => lost.addEventListener('abort', () => resolve(), { once: true }))
        }, signal)
      const [stopA, stopB] = [new AbortController(), new AbortController()]
      const first = candidate('a', stopA.signal)
      await led.a.promise
      const second = candidate('b', stopB.signal)
      const held = await server.client.get(leaseKind, { name: 'controllers', namespace: server.namespace })
      expect(held?.spec).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 30, leaseTransitions: 0 })
      expect(held?.spec?.renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
      stopA.abort()
      await first
      await led.b.promise
      expect(leading).toEqual(['a', 'b'])
      stopB.abort()
      await second
      const free = await server.client.get(leaseKind, { name: 'controllers', namespace: server.namespace })
      expect(free?.spec?.holderIdentity ?? '').toBe('')
      expect(free?.spec?.leaseTransitions).toBe(1)
    })
  })
})
