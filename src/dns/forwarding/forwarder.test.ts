import { createServer } from 'node:net'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { newService, recordText } from '../names/cluster-names.fixture.ts'
import {
  TcpClient,
  askUdp,
  framed,
  localhost,
  newQuery,
  replyOf,
  startServer,
  startUpstream,
} from '../dns-stage.fixture.ts'
import { attemptMs, mostQuestions } from './forwarder.ts'
import { type Message, codeName, recordTypes } from '../messages/message.ts'
import { addressRecord, authorityRecord, pointerRecord } from '../messages/new-record.ts'
import type { Upstream } from './resolvers-file.ts'

const address = Buffer.from([192, 0, 2, 7])
const nameIn = ({ questions }: Message) => questions[0]?.name ?? []
const told = (query: Message, ttl = 300) => replyOf(query, { answers: [addressRecord(nameIn(query), address, ttl)] })
const denied = (query: Message) => replyOf(query, { rcode: 3, authorities: [authorityRecord(['example'], 1, 20)] })

/** The response code, and the answers as text. */
async function ask(port: number, query: Message): Promise<string[]> {
  const { rcode, answers } = await askUdp(port, query)
  return [codeName(rcode), ...answers.map(recordText)]
}

/** A port of this machine that nobody listens on. */
async function deadPort(): Promise<number> {
  const server = createServer().listen(0, localhost)
  await once(server, 'listening')
  const bound = server.address()
  const port = typeof bound === 'object' && bound ? bound.port : 0
  server.close()
  await once(server, 'close')
  return port
}

describe('a name that is not of the cluster', () => {
  it('is asked of the resolvers of the machine, once for as long as the answer holds', async () => {
    const clock = new FakeClock()
    const upstream = await startUpstream((query) => told(query))
    const { port, metrics } = await startServer({ clock, upstreams: [upstream] })
    expect(await ask(port, newQuery('www.example'))).toEqual(['NOERROR', 'www.example. 30 A 192.0.2.7'])
    await clock.advance(12_000)
    expect(await ask(port, newQuery('WWW.Example'))).toEqual(['NOERROR', 'WWW.Example. 18 A 192.0.2.7'])
    expect(upstream.asked).toHaveLength(1)
    await clock.advance(18_000)
    expect(await ask(port, newQuery('www.example'))).toEqual(['NOERROR', 'www.example. 30 A 192.0.2.7'])
    expect(upstream.asked).toHaveLength(2)
    expect(upstream.asked[0]).toMatchObject({ recursionDesired: true, edns: { udpBytes: 1_232 } })
    const text = await metrics.text()
    expect(text).toContain('sluice_dns_forwarded_total{result="answered"} 2')
    expect(text).toContain('sluice_dns_forwarded_total{result="cached"} 1')
    expect(text).toContain('sluice_dns_forward_seconds_count 2')
  })

  it('that does not exist is remembered as its zone says, and a failure is not', async () => {
    const clock = new FakeClock()
    let broken = false
    const upstream = await startUpstream((query) => (broken ? replyOf(query, { rcode: 2 }) : denied(query)))
    const { port } = await startServer({ clock, upstreams: [upstream] })
    expect(await ask(port, newQuery('none.example'))).toEqual(['NXDOMAIN'])
    await clock.advance(19_000)
    expect(await ask(port, newQuery('none.example'))).toEqual(['NXDOMAIN'])
    expect(upstream.asked).toHaveLength(1)
    await clock.advance(1_000)
    broken = true
    expect(await ask(port, newQuery('none.example'))).toEqual(['SERVFAIL'])
    expect(await ask(port, newQuery('none.example'))).toEqual(['SERVFAIL'])
    expect(upstream.asked).toHaveLength(3)
  })

  it('is asked once for all who ask at the same time', async () => {
    const { promise: allowed, resolve: allow } = Promise.withResolvers<void>()
    const upstream = await startUpstream((query) => allowed.then(() => told(query)))
    const { port, metrics } = await startServer({ upstreams: [upstream] })
    const asking = Array.from({ length: 5 }, () => ask(port, newQuery('www.example')))
    await expect.poll(() => metrics.text()).toContain('sluice_dns_forwarded_total{result="joined"} 4')
    allow()
    expect(await Promise.all(asking)).toEqual(
      Array.from({ length: 5 }, () => ['NOERROR', 'www.example. 30 A 192.0.2.7']),
    )
    expect(upstream.asked).toHaveLength(1)
  })

  it('fails when no resolver answers in time, after two attempts', async () => {
    const clock = new FakeClock()
    const silent = await startUpstream(() => undefined, clock)
    const { port } = await startServer({ clock, upstreams: [silent] })
    const answer = ask(port, newQuery('www.example'))
    await silent.until(1)
    await clock.advance(attemptMs)
    await silent.until(2)
    await clock.advance(attemptMs)
    expect(await answer).toEqual(['SERVFAIL'])
    expect(new Set(silent.asked.map(({ id }) => id)).size).toBe(2)
  })

  it('is asked of the next resolver when one does not answer, and of that one first for a while', async () => {
    const dead = { address: localhost, port: await deadPort() }
    const upstream = await startUpstream((query) => told(query))
    const { port } = await startServer({ clock: new FakeClock(), upstreams: [dead, upstream] })
    expect(await ask(port, newQuery('www.example'))).toEqual(['NOERROR', 'www.example. 30 A 192.0.2.7'])
    expect(await ask(port, newQuery('ftp.example'))).toEqual(['NOERROR', 'ftp.example. 30 A 192.0.2.7'])
    expect(upstream.asked).toHaveLength(2)
  })

  it('fails when a resolver cannot even be asked, and the server goes on', async () => {
    const upstreams = ['255.255.255.255', 'fe80::1%nowhere0'].map((address) => ({ address, port: 53 }))
    const { port } = await startServer({ upstreams })
    expect(await ask(port, newQuery('www.example'))).toEqual(['SERVFAIL'])
    expect(await ask(port, newQuery('dns-version.cluster.local', 'A'))).toEqual(['NOERROR'])
  })

  it('fails for those who wait when the server is closed', async () => {
    const clock = new FakeClock()
    const silent = await startUpstream(() => undefined, clock)
    const { server, port, metrics } = await startServer({ clock, upstreams: [silent] })
    const client = await TcpClient.connect(port)
    client.socket.write(framed(newQuery('www.example')))
    await silent.until(1)
    await server.close()
    await client.closed
    await expect.poll(() => metrics.text()).toContain('sluice_dns_forwarded_total{result="failed"} 1')
    await expect(server.listen(localhost, 0)).rejects.toThrow('closed')
  })

  it('is not believed of an answer to something else', async () => {
    const clock = new FakeClock()
    const forgeries: ReadonlyArray<(query: Message) => Message> = [
      (query) => ({ ...told(query), id: (query.id + 1) % 65_536 }),
      (query) => told({ ...query, questions: newQuery('other.example').questions }),
      (query) => told({ ...query, questions: newQuery('www.example', 'AAAA').questions }),
      (query) => ({ ...told(query), response: false }),
    ]
    for (const forge of forgeries) {
      const upstream = await startUpstream(forge, clock)
      const { port } = await startServer({ clock, upstreams: [upstream] })
      const answer = ask(port, newQuery('www.example'))
      await upstream.until(1)
      await clock.advance(attemptMs)
      await upstream.until(2)
      await clock.advance(attemptMs)
      expect(await answer).toEqual(['SERVFAIL'])
    }
  })

  it('is asked over TCP when the answer is too large for a datagram', async () => {
    const answers = (query: Message) =>
      Array.from({ length: 200 }, (_, at) => addressRecord(nameIn(query), Buffer.from([192, 0, 2, at]), 60))
    const upstream = await startUpstream((query, transport) =>
      transport === 'udp' ? replyOf(query, { truncated: true }) : replyOf(query, { answers: answers(query) }),
    )
    const { port } = await startServer({ upstreams: [upstream] })
    expect(await askUdp(port, newQuery('large.example'))).toMatchObject({ truncated: true })
    const client = await TcpClient.connect(port)
    client.socket.write(framed(newQuery('large.example')))
    expect(await client.next()).toMatchObject({ truncated: false, answers: { length: 200 } })
    expect(upstream.asked).toHaveLength(2)
  })

  it('is never asked of this server itself', async () => {
    const upstreams: Upstream[] = []
    const { server, port, metrics } = await startServer({ upstreams })
    const everywhere = await server.listen('0.0.0.0', 0)
    upstreams.push({ address: localhost, port }, { address: '127.9.9.9', port: everywhere.port })
    expect(await ask(port, newQuery('www.example'))).toEqual(['SERVFAIL'])
    expect(await metrics.text()).toContain('sluice_dns_queries_total{type="A",rcode="SERVFAIL"} 1')
  })

  it('comes to an end when the resolver asks this server in its turn', async () => {
    const clock = new FakeClock()
    let back: Promise<Message> | undefined
    const upstream = await startUpstream((query) => (back = askUdp(port, { ...query, edns: undefined })), clock)
    const { port } = await startServer({ clock, upstreams: [upstream] })
    const answer = ask(port, newQuery('www.example'))
    await upstream.until(1)
    await clock.advance(attemptMs)
    await upstream.until(2)
    await clock.advance(attemptMs)
    expect(await answer).toEqual(['SERVFAIL'])
    expect(upstream.asked).toHaveLength(2)
    await back
  })

  it('is refused to a client that has too many questions under way', async () => {
    const clock = new FakeClock()
    const { promise: allowed, resolve: allow } = Promise.withResolvers<void>()
    const upstream = await startUpstream((query) => allowed.then(() => told(query)), clock)
    const { port } = await startServer({ clock, upstreams: [upstream] })
    const clients = await Promise.all([TcpClient.connect(port), TcpClient.connect(port)])
    const queries = Array.from({ length: 50 }, (_, at) => framed(newQuery(`a${at}.example`)))
    const further = Array.from({ length: 50 }, (_, at) => framed(newQuery(`b${at}.example`)))
    clients[0].socket.write(Buffer.concat(queries))
    clients[1].socket.write(Buffer.concat(further))
    await upstream.until(mostQuestions.perClient)
    expect(await ask(port, newQuery('more.example'))).toEqual(['REFUSED'])
    allow()
    expect(await clients[0].next()).toMatchObject({ rcode: 0 })
    expect(await clients[1].next()).toMatchObject({ rcode: 0 })
  })

  it('keeps what a client says about signatures, and what the resolver says', async () => {
    const upstream = await startUpstream((query) => ({ ...told(query), authenticData: true }))
    const { port } = await startServer({ upstreams: [upstream] })
    const edns = { udpBytes: 1_232, version: 0, dnssecOk: true }
    const answer = await askUdp(port, newQuery('www.example', 'A', { edns, checkingDisabled: true }))
    expect(answer).toMatchObject({ authenticData: true, edns, authoritative: false, recursionAvailable: true })
    expect(upstream.asked[0]).toMatchObject({ checkingDisabled: true, edns })
  })
})

describe('a Service that is an alias of a name elsewhere', () => {
  it('is answered with both', async () => {
    const upstream = await startUpstream((query) => {
      const target = ['cdn', 'example']
      const answers = [pointerRecord(nameIn(query), recordTypes.CNAME, target, 60), addressRecord(target, address, 60)]
      return replyOf(query, { answers })
    })
    const { stage, port } = await startServer({ upstreams: [upstream] })
    stage.services.put(newService('out', { type: 'ExternalName', externalName: 'www.example' }))
    expect(await ask(port, newQuery('out.default.svc.cluster.local'))).toEqual([
      'NOERROR',
      'out.default.svc.cluster.local. 30 CNAME www.example.',
      'www.example. 30 CNAME cdn.example.',
      'cdn.example. 30 A 192.0.2.7',
    ])
  })

  it('is one even if there is no such name, but not if nobody could say', async () => {
    let code = 3
    const upstream = await startUpstream((query) => replyOf(query, { rcode: code }))
    const { stage, port } = await startServer({ upstreams: [upstream] })
    stage.services.put(newService('out', { type: 'ExternalName', externalName: 'none.example' }))
    const query = newQuery('out.default.svc.cluster.local')
    expect(await ask(port, query)).toEqual(['NOERROR', 'out.default.svc.cluster.local. 30 CNAME none.example.'])
    code = 5
    expect(await ask(port, query)).toEqual(['SERVFAIL'])
  })
})
