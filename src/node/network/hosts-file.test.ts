import { describe, expect, it } from 'vitest'
import type { Pod } from '../../resources/pod.ts'
import { hostsFileOf } from './hosts-file.ts'
import { hostnameOf, kernelHostnameOf } from './pod-hostname.ts'

const pod = (spec: Record<string, unknown>, name = 'web-0'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop' },
  spec: { containers: [{ name: 'main' }], restartPolicy: 'Always', terminationGracePeriodSeconds: 30, ...spec },
})

const facts = {
  clusterDomain: 'cluster.local',
  podIPs: ['10.1.0.5'],
  machineHosts: '127.0.0.1\tlocalhost\n192.0.2.1\tmachine\n',
}
const beginning = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`
const hostAliases = [
  { ip: '123.45.67.89', hostnames: ['foo', 'bar', 'baz'] },
  { ip: '456.78.90.123', hostnames: ['park'] },
]
const aliasText = '\n# Entries added by HostAliases.\n123.45.67.89\tfoo\tbar\tbaz\n456.78.90.123\tpark\n'

describe('the hosts file of a Pod', () => {
  it.each([
    ['its name', {}, ['10.1.0.5'], `${beginning}10.1.0.5\tweb-0\n`],
    ['no address yet', {}, [], beginning],
    [
      'its domain and both addresses',
      { hostname: 'first', subdomain: 'web' },
      ['10.1.0.5', 'fd00::5'],
      `${beginning}10.1.0.5\tfirst.web.shop.svc.cluster.local\tfirst\nfd00::5\tfirst.web.shop.svc.cluster.local\tfirst\n`,
    ],
    ['aliases', { hostAliases }, ['10.1.0.5'], `${beginning}10.1.0.5\tweb-0\n${aliasText}`],
    [
      'what the machine has',
      { hostNetwork: true, hostAliases },
      ['192.0.2.1'],
      `# Kubernetes-managed hosts file (host network).\n${facts.machineHosts}${aliasText}`,
    ],
  ])('has %s', (_, spec, podIPs, text) => {
    expect(hostsFileOf(pod(spec), { ...facts, podIPs })).toBe(text)
  })
})

describe('the name of a Pod', () => {
  const domain = 'web.shop.svc.cluster.local'
  it.each([
    ['its own', {}, 'web-0', { hostname: 'web-0', domain: '' }],
    ['one that was given', { hostname: 'first' }, 'web-0', { hostname: 'first', domain: '' }],
    ['one in a domain', { hostname: 'first', subdomain: 'web' }, 'web-0', { hostname: 'first', domain }],
    ['its own in a domain', { subdomain: 'web' }, 'web-0', { hostname: 'web-0', domain }],
    ['an empty one', { hostname: '', subdomain: '' }, 'web-0', { hostname: 'web-0', domain: '' }],
    ['one that is too long', {}, `${'a'.repeat(62)}-.x`, { hostname: 'a'.repeat(62), domain: '' }],
    [
      'one that overrides',
      { hostnameOverride: 'db.example', subdomain: 'web' },
      'web-0',
      { hostname: 'db.example', domain: '' },
    ],
  ])('is %s', (_, spec, name, expected) => {
    expect(hostnameOf(pod(spec, name), 'cluster.local')).toEqual(expected)
  })

  it.each([
    ['short', { subdomain: 'web' }, 'web-0'],
    ['whole when asked for', { subdomain: 'web', setHostnameAsFQDN: true }, `web-0.${domain}`],
    ['short without a domain', { setHostnameAsFQDN: true }, 'web-0'],
    ['not to be had when it is too long', { subdomain: 'w'.repeat(40), setHostnameAsFQDN: true }, undefined],
  ])('inside is %s', (_, spec, expected) => {
    expect(kernelHostnameOf(pod(spec), 'cluster.local')).toBe(expected)
  })
})
