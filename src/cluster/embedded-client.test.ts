import { describe, expect, it } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { systemClock } from '../foundation/clock.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { configMapKind } from '../resources/config-map.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { clusterClientContract } from './contract/cluster-client.contract.ts'
import { EmbeddedClient } from './embedded-client.ts'

const historyLimit = 100

describe('EmbeddedClient', () => {
  clusterClientContract(async () => {
    const store = new MemoryStore({ historyLimit })
    const client = new EmbeddedClient(
      new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock: systemClock }),
    )
    await client.create(namespaceKind, { metadata: { name: 'default' } })
    return {
      client,
      async expiredVersion() {
        const metadata = { generateName: 'old-', namespace: 'default' }
        for (let count = 0; count <= historyLimit * 2; count += 1) await client.create(configMapKind, { metadata })
        return '1'
      },
      stop: () => store.close(),
    }
  })

  it('tells a watch that selects little how far the world has moved, so that it can resume without a new list', async () => {
    const store = new MemoryStore({ historyLimit: 250 })
    const client = new EmbeddedClient(new ClusterApi({ store, kinds: coreKinds, clock: systemClock }))
    await client.create(namespaceKind, { metadata: { name: 'default' } })
    const { resourceVersion } = await client.list(configMapKind)
    const stop = new AbortController()
    const selection = { labels: { wanted: 'yes' } }
    const next = client.watch(configMapKind, { ...selection, resourceVersion }, stop.signal).next()
    const metadata = { generateName: 'unwanted-', namespace: 'default' }
    for (let count = 0; count < 600; count += 1) await client.create(configMapKind, { metadata })
    const bookmark = (await next).value
    expect(bookmark).toMatchObject({ type: 'BOOKMARK' })
    stop.abort()
    await store.close()
  })
})
