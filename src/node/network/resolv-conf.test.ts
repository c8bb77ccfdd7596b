import { describe, expect, it } from 'vitest'
import type { Pod } from '../../resources/pod.ts'
import { parseResolvConf, resolvConfOf } from './resolv-conf.ts'

const pod = (spec: Record<string, unknown>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-0', namespace: 'shop' },
  spec: { containers: [{ name: 'main' }], restartPolicy: 'Always', terminationGracePeriodSeconds: 30, ...spec },
})

const facts = {
  clusterDomain: 'cluster.local',
  nameservers: ['10.96.0.10'],
  machineResolvConf: 'nameserver 192.0.2.53\nnameserver 192.0.2.54\nsearch example.com corp\noptions rotate\n',
}
const clusterText =
  'search shop.svc.cluster.local svc.cluster.local cluster.local example.com corp\nnameserver 10.96.0.10\noptions ndots:5\n'
const machineText = 'search example.com corp\nnameserver 192.0.2.53\nnameserver 192.0.2.54\noptions rotate\n'

describe('the resolv.conf of a Pod', () => {
  it.each([
    ['without a policy', {}, clusterText],
    ['ClusterFirst', { dnsPolicy: 'ClusterFirst' }, clusterText],
    ['ClusterFirst in the network of the machine', { dnsPolicy: 'ClusterFirst', hostNetwork: true }, machineText],
    ['ClusterFirstWithHostNet', { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }, clusterText],
    ['ClusterFirstWithHostNet for any Pod', { dnsPolicy: 'ClusterFirstWithHostNet' }, clusterText],
    ['Default', { dnsPolicy: 'Default' }, machineText],
    ['None without a word', { dnsPolicy: 'None' }, ''],
    [
      'None and what the Pod says',
      {
        dnsPolicy: 'None',
        dnsConfig: {
          nameservers: ['1.2.3.4', '1.2.3.4'],
          searches: ['ns1.svc.cluster-domain.example', 'my.dns.search.suffix'],
          options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
        },
      },
      'search ns1.svc.cluster-domain.example my.dns.search.suffix\nnameserver 1.2.3.4\noptions ndots:2 edns0\n',
    ],
    [
      'ClusterFirst and what the Pod adds',
      {
        dnsPolicy: 'ClusterFirst',
        dnsConfig: {
          nameservers: ['10.96.0.10', '203.0.113.1'],
          searches: ['corp', 'own.example'],
          options: [{ name: 'ndots', value: '3' }, { name: 'single-request' }],
        },
      },
      'search shop.svc.cluster.local svc.cluster.local cluster.local example.com corp own.example\n' +
        'nameserver 10.96.0.10\nnameserver 203.0.113.1\noptions ndots:3 single-request\n',
    ],
    [
      'Default and an option of its own',
      { dnsPolicy: 'Default', dnsConfig: { options: [{ name: 'timeout', value: '1' }] } },
      'search example.com corp\nnameserver 192.0.2.53\nnameserver 192.0.2.54\noptions rotate timeout:1\n',
    ],
  ] as const)('%s', (_, spec, text) => {
    expect(resolvConfOf(pod(spec), facts)).toEqual({ text, warnings: [] })
  })

  it('is the one of the machine where the cluster has no server', () => {
    expect(resolvConfOf(pod({}), { ...facts, nameservers: [] }).text).toBe(machineText)
  })

  it('has three nameservers at most, and says what was left out', () => {
    const dnsConfig = { nameservers: ['127.0.0.1', '10.0.0.10', '8.8.8.8', '1.2.3.4'] }
    expect(resolvConfOf(pod({ dnsPolicy: 'None', dnsConfig }), facts)).toEqual({
      text: 'nameserver 127.0.0.1\nnameserver 10.0.0.10\nnameserver 8.8.8.8\n',
      warnings: [
        'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 127.0.0.1 10.0.0.10 8.8.8.8',
      ],
    })
  })

  const numbers = Array.from({ length: 33 }, (_, at) => `d${at}`)
  const long = [`${'A'.repeat(127)}0`, ...Array.from({ length: 15 }, (_, at) => `${'A'.repeat(125)}${10 + at}`)]
  it.each([
    ['32 domains', numbers.slice(0, 32), numbers.slice(0, 32)],
    ['33 domains', numbers, numbers.slice(0, 32)],
    ['a domain that is too long', ['AAA', 'B'.repeat(256), 'BBB'], ['AAA', 'BBB']],
    ['2,048 characters', long, long],
    ['2,050 characters', [...long, 'B'], long],
  ])('searches %s as far as they fit', (_, searches, expected) => {
    const { text, warnings } = resolvConfOf(pod({ dnsPolicy: 'None', dnsConfig: { searches } }), facts)
    expect(text).toBe(`search ${expected.join(' ')}\n`)
    expect(warnings).toEqual(
      expected.length === searches.length
        ? []
        : [
            `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${expected.join(' ')}`,
          ],
    )
  })
})

describe('the resolv.conf of the machine', () => {
  it.each([
    ['', [], [], []],
    ['\t\n\t', [], [], []],
    [' #comment\n', [], [], []],
    ['nameserver\nsearch', [], [], []],
    ['\tnameserver \t 1.2.3.4 #comment', ['1.2.3.4'], [], []],
    ['nameserver 1.2.3.4\nnameserver 5.6.7.8', ['1.2.3.4', '5.6.7.8'], [], []],
    ['search foo. bar .', [], ['foo', 'bar', '.'], []],
    ['search foo\nsearch bar', [], ['bar'], []],
    ['options ndots:1\noptions ndots:5 attempts:3', [], [], ['ndots:5', 'attempts:3']],
    ['# nameserver 1.2.3.4\n;nameserver 1.2.3.4\nnameserver 5.6.7.8\r\n', ['5.6.7.8'], [], []],
  ])('is read as the kubelet reads it: %j', (text, nameservers, searches, options) => {
    expect(parseResolvConf(text)).toEqual({ nameservers, searches, options })
  })
})
