import { describe, expect, it } from 'vitest'
import { HeaderList } from '../../relay/http/header-list.ts'
import { postJson, startGateway, startUpstream } from '../gateway.fixture.ts'
import { forwardedClient } from './forwarded-client.ts'
import { TrustedProxies } from './trusted-proxies.ts'

const trusted = TrustedProxies.parse('127.0.0.1, 10.0.0.0/8,::1', '--trusted-proxies')

function seen(peer: string, headers: Record<string, string>) {
  const head = { method: 'GET', target: '/', path: '/', query: '', version: '1.1' as const }
  const { address, fields } = forwardedClient(
    { client: { address: peer, secure: false }, head: { ...head, headers: HeaderList.of(Object.entries(headers)) } },
    trusted,
  )
  return { address, headers: Object.fromEntries(fields.map(({ name, value }) => [name, value])) }
}

describe('forwardedClient', () => {
  it.each([
    ['a stranger', '203.0.113.9', '198.51.100.1', '203.0.113.9', undefined],
    ['the edge', '127.0.0.1', '198.51.100.1', '198.51.100.1', '198.51.100.1, 127.0.0.1'],
    ['two proxies', '127.0.0.1', '198.51.100.1, 10.1.2.3', '198.51.100.1', '198.51.100.1, 10.1.2.3, 127.0.0.1'],
    ['a client that lies to the edge', '127.0.0.1', '1.1.1.1, 198.51.100.1', '198.51.100.1', '198.51.100.1, 127.0.0.1'],
    ['trusted ones only', '127.0.0.1', '10.0.0.7', '10.0.0.7', '10.0.0.7, 127.0.0.1'],
    ['IPv6', '::1', '2001:db8::7', '2001:db8::7', '2001:db8::7, ::1'],
    ['garbage', '127.0.0.1', 'unknown', '127.0.0.1', undefined],
    ['garbage before an address', '127.0.0.1', 'x"\'<, 198.51.100.1', '198.51.100.1', '198.51.100.1, 127.0.0.1'],
    ['nothing', '127.0.0.1', '', '127.0.0.1', undefined],
  ])('knows who stands behind %s', (_case, peer, list, address, forwarded) => {
    const client = seen(peer, { 'X-Forwarded-For': list })
    expect([client.address, client.headers['x-forwarded-for']]).toEqual([address, forwarded])
  })

  it('takes protocol and host from the edge only, and only well-formed ones', () => {
    const headers = { 'x-forwarded-for': '198.51.100.1', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'a.b:22443' }
    expect(seen('127.0.0.1', headers).headers).toMatchObject({
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'a.b:22443',
    })
    expect(seen('203.0.113.9', headers).headers).toEqual({})
    const odd = { ...headers, 'x-forwarded-proto': 'gopher', 'x-forwarded-host': 'a b' }
    expect(Object.keys(seen('127.0.0.1', odd).headers)).toEqual(['x-forwarded-for'])
  })

  it.each(['10.0.0.0/33', 'localhost', '::1/129', '10.0.0.0/'])('refuses the range %s by name', (text) => {
    expect(() => TrustedProxies.parse(text, '--trusted-proxies')).toThrow(`--trusted-proxies: "${text}"`)
  })
})

describe('what a model’s server is told about the client', () => {
  const headers = { 'x-forwarded-for': '198.51.100.1', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'a.b' }
  const ask = async (proxies: TrustedProxies | undefined) => {
    const upstream = await startUpstream((_request, response) => void response.end('{}'))
    const { url, addPod, requestLines } = await startGateway({ gateway: { trustedProxies: proxies } })
    addPod('one', upstream.port)
    await (await postJson(`${url}/v1/chat/completions`, { model: 'tiny' }, { headers })).text()
    return { told: upstream.received[0]?.headers, logged: requestLines()[0]?.['client'], url }
  }

  it('is what the edge says', async () => {
    const { told, logged } = await ask(trusted)
    expect(told).toMatchObject({
      'x-forwarded-for': '198.51.100.1, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'a.b',
    })
    expect(logged).toBe('198.51.100.1')
  })

  it('is what the connection says when nobody is trusted', async () => {
    const { told, logged, url } = await ask(undefined)
    expect(told).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': new URL(url).host,
    })
    expect(logged).toBe('127.0.0.1')
  })
})
