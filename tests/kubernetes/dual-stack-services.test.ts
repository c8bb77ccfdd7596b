import { describe, expect, it } from 'vitest'
import { onDualStackServer } from './on-dual-stack-server.ts'

type Spec = Readonly<Record<string, unknown>>

const four = expect.stringMatching(/^10\.96\.\d+\.\d+$/) as string
const six = expect.stringMatching(/^fd00:96::[0-9a-f]+$/) as string

onDualStackServer((server) => {
  const service = (name: string, spec: Spec = {}) => ({
    metadata: { name },
    spec: { ports: [{ port: 80 }], selector: { app: 'a' }, ...spec },
  })
  const create = async (name: string, spec: Spec = {}) =>
    (await server().ok('POST', server().path('services'), service(name, spec)))['spec'] as Spec
  const path = (name: string) => server().path(`services/${name}`)
  const patch = async (name: string, spec: Spec) => {
    const { code, body } = await server().patch(path(name), 'merge', { spec })
    return code === 200 ? (body['spec'] as Spec) : [code, body.message]
  }
  const families = ({ clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy }: Spec) => ({
    clusterIP,
    clusterIPs,
    ipFamilies,
    ipFamilyPolicy,
  })

  describe('a Service of a cluster with two families', () => {
    it.each<[Spec, Spec]>([
      [{}, { clusterIPs: [four], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }],
      [{ ipFamilies: ['IPv6'] }, { clusterIPs: [six], ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' }],
      [
        { clusterIP: 'fd00:96::77' },
        { clusterIPs: ['fd00:96::77'], ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' },
      ],
      [
        { ipFamilyPolicy: 'PreferDualStack' },
        { clusterIPs: [four, six], ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' },
      ],
      [
        { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6'] },
        { clusterIPs: [six, four], ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'RequireDualStack' },
      ],
      [
        { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6', 'IPv4'] },
        { clusterIPs: [six, four], ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'RequireDualStack' },
      ],
      [
        { ipFamilyPolicy: 'PreferDualStack', clusterIP: '10.96.7.7', clusterIPs: ['10.96.7.7', 'fd00:96::78'] },
        { clusterIPs: ['10.96.7.7', 'fd00:96::78'], ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' },
      ],
      [
        { ipFamilyPolicy: 'PreferDualStack', clusterIP: 'fd00:96::79' },
        { clusterIPs: ['fd00:96::79', four], ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'PreferDualStack' },
      ],
      [{ clusterIP: 'None' }, { clusterIPs: ['None'], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }],
      [
        { clusterIP: 'None', ipFamilyPolicy: 'PreferDualStack' },
        { clusterIPs: ['None'], ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' },
      ],
      [
        { clusterIP: 'None', selector: undefined },
        { clusterIPs: ['None'], ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' },
      ],
      [
        { clusterIP: 'None', selector: undefined, ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' },
        { clusterIPs: ['None'], ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' },
      ],
    ])('made with %o has the addresses that it asks for', async (spec, expected) => {
      const made = await create('a', spec)
      expect(families(made)).toEqual({ ...expected, clusterIP: (expected['clusterIPs'] as string[])[0] })
      expect(made['clusterIP']).toBe((made['clusterIPs'] as string[])[0])
    })

    it.each<[Spec, string]>([
      [
        { ipFamilies: ['IPv4', 'IPv6'] },
        `spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified`,
      ],
      [
        { clusterIP: '10.96.7.8', clusterIPs: ['10.96.7.8', 'fd00:96::80'] },
        `spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified`,
      ],
      [
        { clusterIP: '10.96.7.8', clusterIPs: ['10.96.7.8', '10.96.7.9'], ipFamilyPolicy: 'PreferDualStack' },
        'spec.clusterIPs: Invalid value: ["10.96.7.8","10.96.7.9"]: may specify no more than one IP for each IP family',
      ],
      [
        { clusterIP: '10.96.7.8', ipFamilies: ['IPv6'] },
        'spec.clusterIPs[0]: Invalid value: "10.96.7.8": expected an IPv6 value as indicated by `ipFamilies[0]`',
      ],
      [
        { clusterIP: 'fd00:96::80', ipFamilies: ['IPv4'] },
        'spec.clusterIPs[0]: Invalid value: "fd00:96::80": expected an IPv4 value as indicated by `ipFamilies[0]`',
      ],
      [
        { clusterIP: 'fd00:97::80' },
        'spec.clusterIPs: Invalid value: ["fd00:97::80"]: failed to allocate IP fd00:97::80: the provided network does not match the current range',
      ],
      [
        { clusterIP: 'None', clusterIPs: ['None', 'fd00:96::80'], ipFamilyPolicy: 'PreferDualStack' },
        `spec.clusterIPs: Invalid value: ["None","fd00:96::80"]: 'None' must be the first and only value`,
      ],
      [
        {
          clusterIP: '10.96.7.8',
          clusterIPs: ['10.96.7.8', 'fd00:96::80', 'fd00:96::81'],
          ipFamilyPolicy: 'PreferDualStack',
        },
        'spec.clusterIPs: Invalid value: ["10.96.7.8","fd00:96::80","fd00:96::81"]: may only hold up to 2 values',
      ],
      [{ ipFamilies: ['IPv5'] }, 'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"'],
      [
        { ipFamilies: ['IPv6', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' },
        'spec.ipFamilies[1]: Duplicate value: "IPv6"',
      ],
    ])('cannot be had with %o', async (spec, why) => {
      const answer = await server().http('POST', server().path('services'), service('a', spec))
      expect([answer.code, answer.body.message]).toEqual([422, expect.stringContaining(why) as string])
    })

    it('never shares an address of either family', async () => {
      const wanted = {
        ipFamilyPolicy: 'PreferDualStack',
        clusterIP: '10.96.8.1',
        clusterIPs: ['10.96.8.1', 'fd00:96::90'],
      }
      await create('a', wanted)
      const second = { ...wanted, clusterIP: '10.96.8.2', clusterIPs: ['10.96.8.2', 'fd00:96::90'] }
      const refused = await server().http('POST', server().path('services'), service('b', second))
      const why = 'failed to allocate IP fd00:96::90: provided IP is already allocated'
      expect([refused.code, refused.body.message]).toEqual([422, expect.stringContaining(why) as string])
    })

    it('gets a second address when its policy asks for it, and gives it back when it does not', async () => {
      const { clusterIP } = await create('a')
      const both = await patch('a', { ipFamilyPolicy: 'PreferDualStack' })
      expect(both).toMatchObject({ clusterIP, clusterIPs: [clusterIP, six], ipFamilies: ['IPv4', 'IPv6'] })
      const labelled = await server().patch(path('a'), 'merge', { metadata: { labels: { a: 'b' } } })
      expect(labelled.body['spec']).toEqual(both)
      const one = await patch('a', { ipFamilyPolicy: 'SingleStack' })
      expect(one).toMatchObject({ clusterIP, clusterIPs: [clusterIP], ipFamilies: ['IPv4'] })
    })

    it('stays as it is when it is replaced by one that does not say', async () => {
      const made = await create('a', { ipFamilyPolicy: 'RequireDualStack' })
      const there = await server().ok('GET', path('a'))
      const { resourceVersion } = there.metadata
      const replaced = await server().ok('PUT', path('a'), {
        ...service('a'),
        metadata: { name: 'a', resourceVersion },
      })
      expect(families(replaced['spec'] as Spec)).toEqual(families(made))
    })

    it.each<[string, (made: Spec) => Spec, string]>([
      [
        'the second address goes without a word about it',
        ({ clusterIP }) => ({ clusterIPs: [clusterIP] }),
        `must be 'SingleStack' to release the secondary cluster IP`,
      ],
      [
        'the second family goes without a word about it',
        () => ({ ipFamilies: ['IPv4'] }),
        `must be 'SingleStack' to release the secondary IP family`,
      ],
      [
        'the second address becomes another',
        ({ clusterIP }) => ({ clusterIPs: [clusterIP, 'fd00:96::99'] }),
        'spec.clusterIPs[1]: Invalid value',
      ],
      [
        'the families change places',
        () => ({ ipFamilies: ['IPv6', 'IPv4'] }),
        'expected an IPv4 value as indicated by `ipFamilies[1]`]',
      ],
    ])('is not changed so that %s', async (_what, change, why) => {
      const made = await create('a', { ipFamilyPolicy: 'PreferDualStack' })
      expect(await patch('a', change(made))).toEqual([422, expect.stringContaining(why) as string])
    })

    it('has the first address in tables, and the cluster both ranges', async () => {
      await create('a', { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6'], clusterIP: 'fd00:96::a1' })
      const listed = await server().kubectl('get service a --no-headers')
      expect(listed).toMatch(/^a\s+ClusterIP\s+fd00:96::a1\s/)
      const range = await server().ok('GET', '/apis/networking.k8s.io/v1/servicecidrs/kubernetes')
      expect(range['spec']).toEqual({ cidrs: ['10.96.0.0/16', 'fd00:96::/112'] })
    })
  })
})
