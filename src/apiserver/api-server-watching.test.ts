import type { IncomingMessage } from 'node:http'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { configMapKind } from '../resources/config-map.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { ApiServerStage, maps } from './test-support/api-server-stage.fixture.ts'
import { type TestCertificates, createTestCertificates } from './test-support/certificates.fixture.ts'

let certificates: TestCertificates
let stage: ApiServerStage

beforeAll(async () => {
  certificates = await createTestCertificates('CN=ada, O=engineers')
})

beforeEach(async () => {
  stage = new ApiServerStage(certificates)
  await stage.start()
})

afterEach(() => stage.stop())

describe('watching', () => {
  async function* lines(response: IncomingMessage): AsyncGenerator<Record<string, unknown>> {
    let rest = ''
    for await (const chunk of response) {
      rest += String(chunk)
      const parts = rest.split('\n')
      rest = parts.pop() ?? ''
      for (const part of parts) yield JSON.parse(part) as Record<string, unknown>
    }
  }

  it('streams changes from a version on', async () => {
    const version = String(stage.api.revision)
    const stream = lines(await stage.open('GET', `/vks/one${maps}?watch=1&resourceVersion=${version}`))
    await stage.api.create(configMapKind, 'default', { metadata: { name: 'a' } })
    await stage.api.delete(configMapKind, { namespace: 'default', name: 'a' })
    expect((await stream.next()).value).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } })
    expect((await stream.next()).value).toMatchObject({ type: 'DELETED' })
  })

  it('sends what is there first, and marks the end of it, when asked to', async () => {
    await stage.api.create(configMapKind, 'default', { metadata: { name: 'a' } })
    const query = 'watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
    const stream = lines(await stage.open('GET', `/vks/one${maps}?${query}`))
    expect((await stream.next()).value).toMatchObject({ type: 'ADDED' })
    expect((await stream.next()).value).toMatchObject({
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        metadata: { resourceVersion: String(stage.api.revision), annotations: { 'k8s.io/initial-events-end': 'true' } },
      },
    })
  })

  it('tells a quiet watcher how far the world has moved', async () => {
    const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${stage.api.revision}`
    const stream = lines(await stage.open('GET', `/vks/one${maps}?${query}`))
    await stage.api.create(namespaceKind, undefined, { metadata: { name: 'other' } })
    await stage.clock.advance(60_000)
    expect((await stream.next()).value).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: String(stage.api.revision) } },
    })
  })

  it('ends after timeoutSeconds', async () => {
    const response = await stage.open('GET', `/vks/one${maps}?watch=1&timeoutSeconds=5`)
    await stage.clock.advance(5_000)
    const events = []
    for await (const event of lines(response)) events.push(event)
    expect(events).toEqual([])
  })

  it('shows table rows, with the columns once', async () => {
    await stage.api.create(configMapKind, 'default', { metadata: { name: 'a' } })
    await stage.api.create(configMapKind, 'default', { metadata: { name: 'b' } })
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
    const stream = lines(await stage.open('GET', `/vks/one${maps}?watch=1`, { headers }))
    const first = (await stream.next()).value as { object: Record<string, unknown> }
    const second = (await stream.next()).value as { object: Record<string, unknown> }
    expect(first.object).toMatchObject({ kind: 'Table', rows: [{ cells: ['a', 0, '0s'] }] })
    expect([first.object['columnDefinitions'], second.object['columnDefinitions']]).toEqual([expect.any(Array), null])
  })

  it('bounds the watches of a user, and gives the place back', async () => {
    const first = await stage.open('GET', `/vks/one${maps}?watch=1`)
    await stage.open('GET', `/vks/one${maps}?watch=1`)
    expect((await stage.call('GET', `${maps}?watch=1`)).json).toMatchObject({ code: 429, reason: 'TooManyRequests' })
    first.destroy()
    const another = () => stage.open('GET', `/vks/one${maps}?watch=1&timeoutSeconds=0`)
    await expect.poll(async () => (await another()).statusCode, { timeout: 10_000 }).toBe(200)
  })

  it('refuses a version of another store', async () => {
    const later = await stage.call('GET', `${maps}?watch=1&resourceVersion=99999`)
    expect(later.text).toContain('Too large resource version: 99999')
    expect((await stage.call('GET', `${maps}?watch=1&resourceVersion=x`)).json).toMatchObject({ code: 400 })
  })

  it('ends with the server', async () => {
    const response = await stage.open('GET', `/vks/one${maps}?watch=1`)
    const closed = stage.server.close(1_000)
    const events = []
    for await (const event of lines(response)) events.push(event)
    stage.hangUp()
    await closed
    expect(events).toEqual([])
  })
})
