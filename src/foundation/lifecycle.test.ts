import { describe, expect, it } from 'vitest'
import { FakeClock } from './fake-clock.ts'
import { Lifecycle } from './lifecycle.ts'
import { silentLogger } from './log.ts'

function recording() {
  const calls: string[] = []
  const component = (name: string) => ({
    name,
    start: () => void calls.push(`start ${name}`),
    stop: () => void calls.push(`stop ${name}`),
  })
  return { calls, component }
}

describe('Lifecycle', () => {
  it('starts in order and stops in reverse, once', async () => {
    const { calls, component } = recording()
    const lifecycle = new Lifecycle({ log: silentLogger })
    lifecycle.add(component('store'))
    lifecycle.add(component('server'))
    await lifecycle.start()
    await Promise.all([lifecycle.stop(), lifecycle.stop()])
    expect(calls).toEqual(['start store', 'start server', 'stop server', 'stop store'])
  })

  it('stops what was started when a later component fails', async () => {
    const { calls, component } = recording()
    const lifecycle = new Lifecycle({ log: silentLogger })
    lifecycle.add(component('store'))
    lifecycle.add({ name: 'broken', start: () => Promise.reject(new Error('port taken')) })
    lifecycle.add(component('never'))
    await expect(lifecycle.start()).rejects.toThrow('port taken')
    expect(calls).toEqual(['start store', 'stop store'])
  })

  it('gives up on a component that does not stop, and stops the others', async () => {
    const clock = new FakeClock()
    const { calls, component } = recording()
    const lifecycle = new Lifecycle({ log: silentLogger, clock, stopDeadlineMs: 5000 })
    lifecycle.add(component('store'))
    lifecycle.add({ name: 'stuck', stop: () => new Promise<void>(() => {}) })
    await lifecycle.start()
    const stopped = lifecycle.stop()
    await clock.advance(5000)
    await stopped
    expect(calls).toEqual(['start store', 'stop store'])
  })

  it('names the component and the deadline when a start takes too long', async () => {
    const clock = new FakeClock()
    const lifecycle = new Lifecycle({ log: silentLogger, clock, startDeadlineMs: 1000 })
    lifecycle.add({ name: 'slow', start: () => new Promise<void>(() => {}) })
    const started = lifecycle.start().catch((error: unknown) => String(error))
    await clock.advance(1000)
    expect(await started).toContain('slow did not start within 1 s')
  })
})
