import { describe, expect, it } from 'vitest'
import { fakeKeys, fakePod } from '../../traffic/cluster-view.fixture.ts'
import { postJson, startGateway, startUpstream } from '../gateway.fixture.ts'

const chat = '/openai/v1/chat/completions'
const keys = { 'key-1': '1'.repeat(43), 'key-2': '2'.repeat(43) }

describe('what an engine hears of keys', () => {
  it('is its own, whatever the client sends, at each endpoint and after a failed one', async () => {
    const answer = await startUpstream((_request, response) => response.end('{}'))
    const broken = await startUpstream((_request, response) => response.destroy())
    const gateway = await startGateway()
    gateway.secrets.put(fakeKeys('tiny', keys))
    const ask = async (headers: Record<string, string> = {}) => {
      const body = { model: 'tiny', messages: [{ role: 'user', content: 'Hi' }] }
      return (await postJson(gateway.url + chat, body, { headers })).status
    }
    const heard = (upstream: typeof answer) => upstream.received.map(({ headers }) => headers['authorization'])
    gateway.pods.put(fakePod('one', { host: '127.0.0.1', port: broken.port, keyId: 'key-1' }))
    const first = ask({ authorization: 'Bearer sk-of-the-client' })
    gateway.pods.put(fakePod('two', { host: '127.0.0.1', port: answer.port, keyId: 'key-2' }))
    expect(await first).toBe(200)
    for (let time = 0; time < 3; time++) expect(await ask({ authorization: 'Bearer sk-of-the-client' })).toBe(200)
    expect(await ask()).toBe(200)
    expect(new Set(heard(broken))).toEqual(new Set([`Bearer ${keys['key-1']}`]))
    expect(new Set(heard(answer))).toEqual(new Set([`Bearer ${keys['key-2']}`]))
    expect(JSON.stringify([heard(broken), heard(answer), gateway.requestLines()])).not.toContain('sk-of-the-client')
    expect(JSON.stringify(gateway.requestLines())).not.toContain(keys['key-2'])
  })

  it('is the client’s where the engine has none of ours: it may have one that its Model’s owner gave it', async () => {
    const upstream = await startUpstream((_request, response) => response.end('{}'))
    const gateway = await startGateway()
    gateway.addPod('one', upstream.port)
    const body = { model: 'tiny', messages: [] }
    await postJson(gateway.url + chat, body, { headers: { authorization: 'Bearer of-the-engine' } })
    expect(upstream.received[0]?.headers['authorization']).toBe('Bearer of-the-engine')
  })
})
