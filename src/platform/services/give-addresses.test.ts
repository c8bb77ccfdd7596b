import { describe, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { ServiceAddresses } from '../../apiserver/services/service-addresses.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { systemClock } from '../../foundation/clock.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { serviceKind } from '../../resources/service.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { giveAddresses } from './give-addresses.ts'

const namespace = 'web'
const before = ['10.64.16.0/20', 'fd00:0:0:2::/112']
const ref = { namespace, name: 'a' }

function open(store: MemoryStore, ranges: readonly string[]): EmbeddedClient {
  const plugins = [new ServiceAddresses({ store, ranges, random: () => 0 })]
  return new EmbeddedClient(new ClusterApi({ store, kinds: coreKinds, clock: systemClock, plugins }))
}

/** What becomes of a Service if the cluster has other ranges at its next start. */
async function moved(ranges: readonly string[], families: object) {
  const store = new MemoryStore()
  const client = open(store, before)
  await client.create(namespaceKind, { metadata: { name: namespace } })
  await client.create(serviceKind, { metadata: ref, spec: { ports: [{ port: 80 }], ...families } })
  const after = open(store, ranges)
  await giveAddresses(after, ranges)
  await giveAddresses(after, ranges)
  const { clusterIPs, ipFamilies, ipFamilyPolicy } = (await after.get(serviceKind, ref))?.spec ?? {}
  return { clusterIPs, ipFamilies, ipFamilyPolicy }
}

describe('giveAddresses', () => {
  const both = { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' }
  const requires = { ipFamilyPolicy: 'RequireDualStack' }
  const [four, six] = ['10.64.17.1', 'fd00:0:0:2::100']
  const others = ['10.65.16.0/20', 'fd00:0:0:9::/112']
  const [otherFour, otherSix] = ['10.65.17.1', 'fd00:0:0:9::100']

  it('leaves alone what is where it should be', async () => {
    expect(await moved(before, requires)).toEqual({ ...both, clusterIPs: [four, six] })
  })

  it('gives another address for each that is in no range of the cluster, of the same family', async () => {
    expect(await moved([before[0] ?? '', others[1] ?? ''], requires)).toEqual({ ...both, clusterIPs: [four, otherSix] })
    expect(await moved(others, requires)).toEqual({ ...both, clusterIPs: [otherFour, otherSix] })
    const alone = { ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' }
    expect(await moved(others, { ipFamilies: ['IPv6'] })).toEqual({ ...alone, clusterIPs: [otherSix] })
  })

  it('gives who needed two families the one that there is', async () => {
    const one = { ipFamilies: ['IPv4'], ipFamilyPolicy: 'PreferDualStack' }
    expect(await moved(others.slice(0, 1), requires)).toEqual({ ...one, clusterIPs: [otherFour] })
    // Nothing changes, since nothing has to.
    expect(await moved(before.slice(0, 1), requires)).toEqual({ ...both, clusterIPs: [four, six] })
    const alone = { ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' }
    expect(await moved(before.slice(0, 1), { ipFamilies: ['IPv6'] })).toEqual({ ...alone, clusterIPs: [six] })
  })
})
