import { describe, expect, it } from 'vitest'
import { refOf } from '../../resources/object-ref.ts'
import { NamesStage, dnsPort, http, newPod, newService, newSlice } from './cluster-names.fixture.ts'

const soa = 'authority cluster.local. 30 SOA'
const nothing = ['NOERROR', soa]
const noSuchName = ['NXDOMAIN', soa]

describe('a Service with a cluster IP', () => {
  const stage = new NamesStage()
  stage.services.put(
    newService('web', { clusterIP: '10.96.0.7', ports: [http, { name: 'admin', port: 81, protocol: 'TCP' }] }),
  )
  stage.services.put(newService('both', { clusterIPs: ['10.96.0.8', 'fd00::8'], ports: [http] }))
  stage.services.put(newService('portless', { clusterIP: '10.96.0.9' }))
  stage.slices.put(newSlice('web', [{ address: '10.1.0.5' }, { address: '10.1.0.6', hostname: 'first' }]))

  it.each([
    ['web.default.svc.cluster.local', 'A', ['NOERROR', 'web.default.svc.cluster.local. 30 A 10.96.0.7']],
    ['WEB.Default.svc.CLUSTER.local', 'A', ['NOERROR', 'WEB.Default.svc.CLUSTER.local. 30 A 10.96.0.7']],
    ['web.default.svc.cluster.local', 'AAAA', nothing],
    ['web.default.svc.cluster.local', 'MX', nothing],
    ['web.default.svc.cluster.local', 'TXT', nothing],
    ['web.default.svc.cluster.local', 'ANY', nothing],
    ['web.default.svc.cluster.local', 'CNAME', nothing],
    ['both.default.svc.cluster.local', 'A', ['NOERROR', 'both.default.svc.cluster.local. 30 A 10.96.0.8']],
    [
      'both.default.svc.cluster.local',
      'AAAA',
      ['NOERROR', 'both.default.svc.cluster.local. 30 AAAA fd000000000000000000000000000008'],
    ],
    ['portless.default.svc.cluster.local', 'A', ['NOERROR', 'portless.default.svc.cluster.local. 30 A 10.96.0.9']],
    ['portless.default.svc.cluster.local', 'SRV', nothing],
    ['none.default.svc.cluster.local', 'A', noSuchName],
    ['web.kube-system.svc.cluster.local', 'A', noSuchName],
    ['web.nowhere.svc.cluster.local', 'A', noSuchName],
    ['a.b.c.web.default.svc.cluster.local', 'A', noSuchName],
    [
      '_http._tcp.web.default.svc.cluster.local',
      'SRV',
      [
        'NOERROR',
        '_http._tcp.web.default.svc.cluster.local. 30 SRV 0 100 80 web.default.svc.cluster.local.',
        'additional web.default.svc.cluster.local. 30 A 10.96.0.7',
      ],
    ],
    [
      'web.default.svc.cluster.local',
      'SRV',
      [
        'NOERROR',
        'web.default.svc.cluster.local. 30 SRV 0 50 80 web.default.svc.cluster.local.',
        'web.default.svc.cluster.local. 30 SRV 0 50 81 web.default.svc.cluster.local.',
        'additional web.default.svc.cluster.local. 30 A 10.96.0.7',
      ],
    ],
    ['_http._udp.web.default.svc.cluster.local', 'SRV', noSuchName],
    ['_dns._tcp.web.default.svc.cluster.local', 'SRV', noSuchName],
    // Its endpoints have names, too.
    [
      '10-1-0-5.web.default.svc.cluster.local',
      'A',
      ['NOERROR', '10-1-0-5.web.default.svc.cluster.local. 30 A 10.1.0.5'],
    ],
    ['first.web.default.svc.cluster.local', 'A', ['NOERROR', 'first.web.default.svc.cluster.local. 30 A 10.1.0.6']],
    ['10-1-0-6.web.default.svc.cluster.local', 'A', noSuchName],
  ] as const)('answers %s %s', (name, type, answer) => {
    expect(stage.ask(name, type)).toEqual(answer)
  })
})

describe('a headless Service', () => {
  const stage = new NamesStage()
  stage.services.put(newService('db', { clusterIP: 'None', ports: [http, dnsPort] }))
  const endpoints = [
    { address: '10.1.0.5', hostname: 'db-0' },
    { address: '10.1.0.6' },
    { address: '10.1.0.7', ready: false },
  ]
  stage.slices.put(newSlice('db', endpoints, { ports: [http, dnsPort] }))
  stage.slices.put(newSlice('db', [{ address: 'fd00::' }, { address: 'fd00::6' }], { name: 'db-6' }))
  stage.services.put(newService('early', { clusterIP: 'None', publishNotReadyAddresses: true }))
  stage.slices.put(newSlice('early', [{ address: '10.1.0.8', hostname: 'early-0', ready: false }], { ports: [] }))
  stage.services.put(newService('empty', { clusterIP: 'None', ports: [http] }))

  it.each([
    [
      'db.default.svc.cluster.local',
      'A',
      ['NOERROR', 'db.default.svc.cluster.local. 30 A 10.1.0.5', 'db.default.svc.cluster.local. 30 A 10.1.0.6'],
    ],
    ['db-0.db.default.svc.cluster.local', 'A', ['NOERROR', 'db-0.db.default.svc.cluster.local. 30 A 10.1.0.5']],
    ['10-1-0-6.db.default.svc.cluster.local', 'A', ['NOERROR', '10-1-0-6.db.default.svc.cluster.local. 30 A 10.1.0.6']],
    ['10-1-0-7.db.default.svc.cluster.local', 'A', noSuchName],
    [
      'fd00--0.db.default.svc.cluster.local',
      'AAAA',
      ['NOERROR', 'fd00--0.db.default.svc.cluster.local. 30 AAAA fd000000000000000000000000000000'],
    ],
    [
      '_dns._udp.db.default.svc.cluster.local',
      'SRV',
      [
        'NOERROR',
        '_dns._udp.db.default.svc.cluster.local. 30 SRV 0 50 53 db-0.db.default.svc.cluster.local.',
        '_dns._udp.db.default.svc.cluster.local. 30 SRV 0 50 53 10-1-0-6.db.default.svc.cluster.local.',
        'additional db-0.db.default.svc.cluster.local. 30 A 10.1.0.5',
        'additional 10-1-0-6.db.default.svc.cluster.local. 30 A 10.1.0.6',
      ],
    ],
    ['early.default.svc.cluster.local', 'A', ['NOERROR', 'early.default.svc.cluster.local. 30 A 10.1.0.8']],
    [
      'early-0.early.default.svc.cluster.local',
      'A',
      ['NOERROR', 'early-0.early.default.svc.cluster.local. 30 A 10.1.0.8'],
    ],
    ['early.default.svc.cluster.local', 'SRV', nothing],
    ['empty.default.svc.cluster.local', 'A', noSuchName],
  ] as const)('answers %s %s', (name, type, answer) => {
    expect(stage.ask(name, type)).toEqual(answer)
  })
})

describe('a Service that is an alias', () => {
  const stage = new NamesStage()
  const alias = (name: string, externalName: string) =>
    stage.services.put(newService(name, { type: 'ExternalName', externalName }))
  alias('out', 'www.example.com')
  alias('in', 'web.default.svc.cluster.local')
  alias('dead', 'none.default.svc.cluster.local')
  alias('self', 'self.default.svc.cluster.local')
  alias('ping', 'pong.default.svc.cluster.local')
  alias('pong', 'ping.default.svc.cluster.local')
  alias('number', '192.0.2.1')
  stage.services.put(newService('web', { clusterIP: '10.96.0.7', ports: [http] }))

  it.each([
    [
      'out.default.svc.cluster.local',
      'A',
      ['out.default.svc.cluster.local. 30 CNAME www.example.com.', 'then www.example.com'],
    ],
    ['out.default.svc.cluster.local', 'CNAME', ['NOERROR', 'out.default.svc.cluster.local. 30 CNAME www.example.com.']],
    ['out.default.svc.cluster.local', 'SRV', nothing],
    ['_http._tcp.out.default.svc.cluster.local', 'SRV', noSuchName],
    [
      'in.default.svc.cluster.local',
      'A',
      [
        'NOERROR',
        'in.default.svc.cluster.local. 30 CNAME web.default.svc.cluster.local.',
        'web.default.svc.cluster.local. 30 A 10.96.0.7',
      ],
    ],
    ['in.default.svc.cluster.local', 'AAAA', nothing],
    ['dead.default.svc.cluster.local', 'A', nothing],
    ['self.default.svc.cluster.local', 'A', nothing],
    ['ping.default.svc.cluster.local', 'AAAA', nothing],
    ['number.default.svc.cluster.local', 'A', noSuchName],
  ] as const)('answers %s %s', (name, type, answer) => {
    expect(stage.ask(name, type)).toEqual(answer)
  })
})

describe('names of Pods', () => {
  const stage = new NamesStage()
  stage.pods.put(newPod('one', '10.1.0.5'))
  stage.pods.put(newPod('six', 'fd00::0:6', { podIPs: [{ ip: 'fd00::6' }, { ip: '10.1.0.6' }] }))
  stage.pods.put(newPod('done', '10.1.0.9', { phase: 'Succeeded' }))

  it.each([
    ['10-1-0-5.default.pod.cluster.local', 'A', ['NOERROR', '10-1-0-5.default.pod.cluster.local. 30 A 10.1.0.5']],
    ['10-1-0-5.default.pod.cluster.local', 'AAAA', nothing],
    [
      'fd00--6.default.pod.cluster.local',
      'AAAA',
      ['NOERROR', 'fd00--6.default.pod.cluster.local. 30 AAAA fd000000000000000000000000000006'],
    ],
    ['10-1-0-6.default.pod.cluster.local', 'A', ['NOERROR', '10-1-0-6.default.pod.cluster.local. 30 A 10.1.0.6']],
    ['10-1-0-5.kube-system.pod.cluster.local', 'A', noSuchName],
    ['10-1-0-9.default.pod.cluster.local', 'A', noSuchName],
    ['192-0-2-1.default.pod.cluster.local', 'A', noSuchName],
    ['one.default.pod.cluster.local', 'A', noSuchName],
    ['default.pod.cluster.local', 'A', nothing],
    ['nowhere.pod.cluster.local', 'A', noSuchName],
  ] as const)('answers %s %s', (name, type, answer) => {
    expect(stage.ask(name, type)).toEqual(answer)
  })
})

describe('the zone itself', () => {
  const stage = new NamesStage()

  it.each([
    ['cluster.local', 'A', nothing],
    ['cluster.local', 'SOA', ['NOERROR', 'cluster.local. 30 SOA']],
    [
      'cluster.local',
      'NS',
      ['NOERROR', 'cluster.local. 30 NS ns.dns.cluster.local.', 'additional ns.dns.cluster.local. 30 A 10.1.0.1'],
    ],
    ['ns.dns.cluster.local', 'A', ['NOERROR', 'ns.dns.cluster.local. 30 A 10.1.0.1']],
    ['dns-version.cluster.local', 'TXT', ['NOERROR', 'dns-version.cluster.local. 28800 TXT \u0005 1.1.0']],
    ['dns-version.cluster.local', 'A', nothing],
    ['svc.cluster.local', 'A', nothing],
    ['pod.cluster.local', 'TXT', nothing],
    ['default.svc.cluster.local', 'TXT', nothing],
    ['nowhere.svc.cluster.local', 'A', noSuchName],
    ['other.cluster.local', 'A', noSuchName],
    ['xcluster.local', 'A', ['elsewhere']],
    ['local', 'A', ['elsewhere']],
    ['www.example.com', 'A', ['elsewhere']],
  ] as const)('answers %s %s', (name, type, answer) => {
    expect(stage.ask(name, type)).toEqual(answer)
  })

  it('names the Service it is reached through', () => {
    const stage = new NamesStage()
    stage.services.put(newService('kube-dns', { clusterIP: '10.96.0.10', ports: [dnsPort] }, 'kube-system'))
    expect(stage.ask('cluster.local', 'NS')).toEqual([
      'NOERROR',
      'cluster.local. 30 NS kube-dns.kube-system.svc.cluster.local.',
      'additional kube-dns.kube-system.svc.cluster.local. 30 A 10.96.0.10',
    ])
  })

  it('fails instead of denying what it has not seen yet', () => {
    const stage = new NamesStage()
    stage.slices.synced = false
    expect(stage.ask('web.default.svc.cluster.local', 'A')).toEqual(['SERVFAIL', soa])
    expect(stage.ask('default.svc.cluster.local', 'A')).toEqual(nothing)
  })
})

describe('names for addresses', () => {
  const stage = new NamesStage()
  stage.services.put(newService('web', { clusterIPs: ['10.96.0.7', 'fd00::7'], ports: [http] }))
  stage.slices.put(newSlice('web', [{ address: '10.1.0.5', hostname: 'web-0' }, { address: '10.1.0.6' }]))
  stage.slices.put(newSlice('web', [{ address: '10.1.0.9', ready: false }], { name: 'late' }))

  it.each([
    ['7.0.96.10.in-addr.arpa', ['NOERROR', '7.0.96.10.in-addr.arpa. 30 PTR web.default.svc.cluster.local.']],
    ['5.0.1.10.IN-ADDR.arpa', ['NOERROR', '5.0.1.10.IN-ADDR.arpa. 30 PTR web-0.web.default.svc.cluster.local.']],
    ['6.0.1.10.in-addr.arpa', ['NOERROR', '6.0.1.10.in-addr.arpa. 30 PTR 10-1-0-6.web.default.svc.cluster.local.']],
    [
      `7.${'0.'.repeat(27)}0.0.d.f.ip6.arpa`,
      ['NOERROR', `7.${'0.'.repeat(27)}0.0.d.f.ip6.arpa. 30 PTR web.default.svc.cluster.local.`],
    ],
    ['9.0.1.10.in-addr.arpa', ['elsewhere']],
    ['1.2.0.192.in-addr.arpa', ['elsewhere']],
    ['0.96.10.in-addr.arpa', ['elsewhere']],
    ['007.0.96.10.in-addr.arpa', ['elsewhere']],
  ] as const)('answers %s', (name, answer) => {
    expect(stage.ask(name, 'PTR')).toEqual(answer)
  })
})

describe('a cluster that changes', () => {
  it('answers with what is there now', () => {
    const stage = new NamesStage()
    const ask = () => stage.ask('web.default.svc.cluster.local', 'A').slice(1)
    const service = newService('web', { clusterIP: 'None', ports: [http] })
    stage.slices.put(newSlice('web', [{ address: '10.1.0.5' }]))
    expect(ask()).toEqual([soa])
    stage.services.put(service)
    expect(ask()).toEqual(['web.default.svc.cluster.local. 30 A 10.1.0.5'])
    stage.slices.put(newSlice('web', [{ address: '10.1.0.6' }]))
    expect(ask()).toEqual(['web.default.svc.cluster.local. 30 A 10.1.0.6'])
    stage.slices.put(newSlice('other', [{ address: '10.1.0.6' }], { name: 'web-1' }))
    expect(ask()).toEqual([soa])
    stage.slices.put(newSlice('web', [{ address: '10.1.0.7' }], { name: 'web-2' }))
    expect(ask()).toEqual(['web.default.svc.cluster.local. 30 A 10.1.0.7'])
    stage.slices.remove(refOf(newSlice('web', [], { name: 'web-2' })))
    expect(ask()).toEqual([soa])
    stage.services.put(newService('web', { clusterIP: '10.96.0.7', ports: [http] }))
    expect(ask()).toEqual(['web.default.svc.cluster.local. 30 A 10.96.0.7'])
    stage.services.remove(refOf(service))
    expect(ask()).toEqual([soa])
    expect(stage.ask('7.0.96.10.in-addr.arpa', 'PTR')).toEqual(['elsewhere'])
  })

  it('gives an address to the Pod that has it now', () => {
    const stage = new NamesStage()
    const ask = () => stage.ask('10-1-0-5.default.pod.cluster.local', 'A')[0]
    stage.pods.put(newPod('one', '10.1.0.5'))
    stage.pods.put(newPod('one', '10.1.0.6'))
    expect(ask()).toBe('NXDOMAIN')
    stage.pods.put(newPod('two', '10.1.0.5'))
    expect(ask()).toBe('NOERROR')
    stage.pods.remove(refOf(newPod('two', '10.1.0.5')))
    expect(ask()).toBe('NXDOMAIN')
  })
})
