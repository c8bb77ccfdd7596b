import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { http, newPod, newService, newSlice } from './names/cluster-names.fixture.ts'
import { TcpClient, askUdp, bytesOf, exchange, framed, localhost, newQuery, startServer } from './dns-stage.fixture.ts'
import { type Message, codeName, recordTypes } from './messages/message.ts'
import { readHead, readMessage } from './messages/message-reader.ts'
import { tcpLimits } from './listening/tcp-face.ts'

const many = Array.from({ length: 150 }, (_, at) => ({ address: `10.1.1.${at}`, hostname: `db-${at}` }))

/** A cluster with a bit of everything, and Node's DNS client for it. */
async function startCluster() {
  const started = await startServer()
  const { stage, port } = started
  stage.services.put(newService('web', { clusterIPs: ['10.96.0.7', 'fd00::7'], ports: [http] }))
  stage.services.put(newService('db', { clusterIP: 'None', ports: [http] }))
  stage.slices.put(newSlice('db', many))
  stage.services.put(newService('in', { type: 'ExternalName', externalName: 'web.default.svc.cluster.local' }))
  stage.pods.put(newPod('one', '10.1.0.5'))
  const client = new Resolver({ timeout: 5_000, tries: 1 })
  client.setServers([`${localhost}:${port}`])
  onTestFinished(() => client.cancel())
  return { ...started, client }
}

describe('a client of the cluster DNS server', () => {
  it('finds Services and Pods', async () => {
    const { client } = await startCluster()
    const web = 'web.default.svc.cluster.local'
    expect(await client.resolve4(web, { ttl: true })).toEqual([{ address: '10.96.0.7', ttl: 30 }])
    expect(await client.resolve6(web)).toEqual(['fd00::7'])
    expect(await client.resolveSrv(`_http._tcp.${web}`)).toMatchObject([
      { name: web, port: 80, priority: 0, weight: 50 },
    ])
    expect(await client.reverse('10.96.0.7')).toEqual([web])
    expect(await client.reverse('fd00::7')).toEqual([web])
    expect(await client.reverse('10.1.1.3')).toEqual(['db-3.db.default.svc.cluster.local'])
    expect(await client.resolve4('db-3.db.default.svc.cluster.local')).toEqual(['10.1.1.3'])
    expect(await client.resolve4('10-1-0-5.default.pod.cluster.local')).toEqual(['10.1.0.5'])
    expect(await client.resolveCname('in.default.svc.cluster.local')).toEqual([web])
    expect(await client.resolve4('in.default.svc.cluster.local')).toEqual(['10.96.0.7'])
    expect(await client.resolveTxt('dns-version.cluster.local')).toEqual([['1.1.0']])
    expect(await client.resolveNs('cluster.local')).toEqual(['ns.dns.cluster.local'])
    expect(await client.resolveSoa('cluster.local')).toMatchObject({
      hostmaster: 'hostmaster.cluster.local',
      minttl: 30,
    })
  })

  it('is told apart what is not there and what has nothing of the kind', async () => {
    const { client } = await startCluster()
    await expect(client.resolve4('none.default.svc.cluster.local')).rejects.toMatchObject({ code: 'ENOTFOUND' })
    await expect(client.resolve4('default.svc.cluster.local')).rejects.toMatchObject({ code: 'ENODATA' })
    await expect(client.resolveMx('web.default.svc.cluster.local')).rejects.toMatchObject({ code: 'ENODATA' })
  })

  it('gets over TCP what does not fit into a datagram', async () => {
    const { client } = await startCluster()
    const addresses = await client.resolve4('db.default.svc.cluster.local')
    expect(addresses.toSorted()).toEqual(many.map(({ address }) => address).toSorted())
  })

  it('is answered at every address that the server listens on, until that is closed', async () => {
    const { server, client } = await startCluster()
    const other = await server.listen('127.0.0.2', 0)
    client.setServers([`127.0.0.2:${other.port}`])
    expect(await client.resolve4('web.default.svc.cluster.local')).toEqual(['10.96.0.7'])
    await other.close()
    expect(server.listeners.map(({ address }) => address)).toEqual([localhost])
    await expect(client.resolve4('web.default.svc.cluster.local')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('is counted by type and by answer', async () => {
    const { client, metrics } = await startCluster()
    await client.resolve4('web.default.svc.cluster.local')
    await expect(client.resolve4('none.default.svc.cluster.local')).rejects.toThrow('ENOTFOUND')
    const text = await metrics.text()
    expect(text).toContain('sluice_dns_queries_total{type="A",rcode="NOERROR"} 1')
    expect(text).toContain('sluice_dns_queries_total{type="A",rcode="NXDOMAIN"} 1')
  })
})

describe('a datagram', () => {
  const edns = (udpBytes: number, version = 0) => ({ udpBytes, version, dnssecOk: true })
  const web = 'web.default.svc.cluster.local'
  const [question] = newQuery(web).questions

  it.each<[string, Message, string]>([
    ['with a question', newQuery(web), 'NOERROR'],
    ['without a question', newQuery(web, 'A', { questions: [] }), 'FORMERR'],
    ['with two questions', newQuery(web, 'A', { questions: question ? [question, question] : [] }), 'FORMERR'],
    ['with another opcode', newQuery(web, 'A', { opcode: 5 }), 'NOTIMP'],
    ['that asks for a whole zone', newQuery('cluster.local', 'AXFR'), 'REFUSED'],
    ['of another class', newQuery(web, 'A', { questions: question ? [{ ...question, class: 3 }] : [] }), 'REFUSED'],
    ['with a version of EDNS that is to come', newQuery(web, 'A', { edns: edns(1_232, 1) }), 'BADVERS'],
  ])('%s is answered as it has to be', async (_, query, code) => {
    const { port } = await startCluster()
    const { id, response, rcode, recursionDesired, edns: options } = await askUdp(port, query)
    expect({ id, response, recursionDesired }).toEqual({ id: 4_711, response: true, recursionDesired: true })
    expect(codeName(rcode)).toBe(code)
    expect(options).toEqual(query.edns && { udpBytes: 1_232, version: 0, dnssecOk: true })
  })

  it.each<[string, number, number | undefined, number]>([
    ['512 bytes without EDNS', 512, undefined, 29],
    ['512 bytes when it asks for less', 512, 100, 28],
    ['what it asks for', 700, 700, 40],
    ['1,232 bytes when it asks for more', 1_232, 4_096, 73],
  ])('gets %s', async (_, limit, asked, count) => {
    const { port } = await startCluster()
    const query = newQuery('db.default.svc.cluster.local', 'A', { edns: asked === undefined ? undefined : edns(asked) })
    const bytes = await exchange(port, bytesOf(query))
    expect(bytes.length).toBeLessThanOrEqual(limit)
    expect(readMessage(bytes)).toMatchObject({ truncated: true, authoritative: true })
    expect(readMessage(bytes).answers).toHaveLength(count)
  })

  it('loses additional records without a word when they do not fit', async () => {
    const { stage, port } = await startCluster()
    stage.services.put(newService('few', { clusterIP: 'None', ports: [http] }))
    stage.slices.put(newSlice('few', many.slice(0, 7)))
    const { truncated, answers, additionals } = await askUdp(port, newQuery('few.default.svc.cluster.local', 'SRV'))
    expect({ truncated, answers: answers.length }).toEqual({ truncated: false, answers: 7 })
    expect(additionals.length).toBeLessThan(7)
  })

  it('that is none is refused or passed over, and the next one is answered', async () => {
    const { port } = await startCluster()
    const broken = Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1])
    expect(readHead(await exchange(port, broken))).toMatchObject({ id: 7, response: true, rcode: 1 })
    const silent = [Buffer.alloc(0), Buffer.alloc(11), bytesOf(newQuery(web, 'A', { response: true }))]
    for (const bytes of silent) {
      const answer = await exchangeAfter(port, bytes, bytesOf(newQuery(web, 'A', { id: 8 })))
      expect(readHead(answer).id).toBe(8)
    }
  })

  it('keeps the case of the name it asks for', async () => {
    const { port } = await startCluster()
    const { questions, answers } = await askUdp(port, newQuery('WeB.default.SVC.cluster.local'))
    expect(questions[0]?.name.join('.')).toBe('WeB.default.SVC.cluster.local')
    expect(answers[0]?.name.join('.')).toBe('WeB.default.SVC.cluster.local')
  })
})

function exchangeAfter(port: number, first: Buffer, second: Buffer): Promise<Buffer> {
  const socket = createSocket('udp4')
  onTestFinished(() => void socket.close())
  return new Promise((resolve) => {
    socket.on('message', resolve)
    socket.send(first, port, localhost, () => socket.send(second, port, localhost))
  })
}

describe('a connection', () => {
  const web = 'web.default.svc.cluster.local'

  it('takes many queries at once, in whatever pieces they come', async () => {
    const { port } = await startCluster()
    const client = await TcpClient.connect(port)
    const queries = Buffer.concat(Array.from({ length: 200 }, (_, id) => framed(newQuery(web, 'A', { id }))))
    client.socket.write(queries.subarray(0, 1))
    client.socket.write(queries.subarray(1, 40))
    client.socket.end(queries.subarray(40))
    const ids: number[] = []
    while (ids.length < 200) ids.push((await client.next()).id)
    expect(ids).toEqual(Array.from({ length: 200 }, (_, id) => id))
    await client.closed
  })

  it('carries what is larger than any datagram', async () => {
    const { port } = await startCluster()
    const client = await TcpClient.connect(port)
    client.socket.write(framed(newQuery('db.default.svc.cluster.local')))
    expect(await client.next()).toMatchObject({ truncated: false, answers: { length: 150 } })
  })

  it('ends when what comes is no query', async () => {
    const { port } = await startCluster()
    const client = await TcpClient.connect(port)
    client.socket.write(Buffer.from([0, 3, 1, 2, 3]))
    await client.closed
    expect(client.socket.destroyed).toBe(true)
  })

  it('ends when it says nothing whole for a while, however often it says a bit', async () => {
    const clock = new FakeClock()
    const { port, metrics } = await startServer({ clock })
    const client = await TcpClient.connect(port)
    client.socket.write(framed(newQuery('dns-version.cluster.local', 'TXT')))
    expect(await client.next()).toMatchObject({ answers: [{ type: recordTypes.TXT }] })
    await clock.advance(tcpLimits.idleMs - 1)
    client.socket.write(Buffer.from([0]))
    expect(await metrics.text()).toContain('sluice_dns_tcp_connections 1')
    await clock.advance(1)
    await client.closed
    expect(await metrics.text()).toContain('sluice_dns_tcp_connections 0')
  })

  it('of a client that has too many is closed at once, and the others go on', async () => {
    const { port } = await startCluster()
    const clients = await Promise.all(
      Array.from({ length: tcpLimits.connectionsPerClient }, () => TcpClient.connect(port)),
    )
    const [first] = clients
    first?.socket.write(framed(newQuery(web)))
    await first?.next()
    const further = await TcpClient.connect(port)
    await further.closed
    first?.socket.write(framed(newQuery(web)))
    expect(await first?.next()).toMatchObject({ rcode: 0 })
  })
})
