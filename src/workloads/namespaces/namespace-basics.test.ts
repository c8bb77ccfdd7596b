import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { QuotaAdmission } from '../../apiserver/quota/quota-admission.ts'
import { QuotaLedger } from '../../apiserver/quota/quota-ledger.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { configMapKind } from '../../resources/config-map.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { resourceQuotaKind } from '../../resources/resource-quota.ts'
import { serviceAccountKind } from '../../resources/service-account.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { WorkloadControllers } from '../workload-controllers.ts'

const namespace = 'team'
const soon = { timeout: 5_000, interval: 10 }
let client: EmbeddedClient
let controllers: WorkloadControllers

beforeEach(async () => {
  const store = new MemoryStore()
  const quotaCounts: QuotaLedger = new QuotaLedger({ store, kinds: () => api.kinds.list() })
  const plugins = [new QuotaAdmission(quotaCounts)]
  const api: ClusterApi = new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock: systemClock, plugins })
  client = new EmbeddedClient(api)
  controllers = new WorkloadControllers({
    client,
    finalizeNamespace: (name) => client.finalizeNamespace(name),
    rootCertificate: 'PEM',
    quotaCounts,
    clock: systemClock,
    log: silentLogger,
  })
  await client.create(namespaceKind, { metadata: { name: namespace } })
  await controllers.start(new AbortController().signal)
})

afterEach(() => controllers.stop())

const account = () => client.get(serviceAccountKind, { namespace, name: 'default' })
const authority = () => client.get(configMapKind, { namespace, name: 'kube-root-ca.crt' })

describe('a namespace', () => {
  it('has its default service account, and gets it again', async () => {
    const first = await vi.waitFor(async () => expectThere(await account()), soon)
    await client.delete(serviceAccountKind, { namespace, name: 'default' })
    await vi.waitFor(async () => expect(expectThere(await account()).metadata.uid).not.toBe(first.metadata.uid), soon)
  })

  it('has the certificate of the API server, and nobody can change it for long', async () => {
    const map = await vi.waitFor(async () => expectThere(await authority()), soon)
    expect(map.data).toEqual({ 'ca.crt': 'PEM' })
    await client.update(configMapKind, { ...map, data: { 'ca.crt': 'another', more: 'x' } })
    await vi.waitFor(async () => expect((await authority())?.data).toEqual({ 'ca.crt': 'PEM' }), soon)
    await client.delete(configMapKind, { namespace, name: 'kube-root-ca.crt' })
    await vi.waitFor(async () => expectThere(await authority()), soon)
  })

  it('can go: nothing of it is made again', async () => {
    await vi.waitFor(async () => expectThere(await account()) && expectThere(await authority()), soon)
    await client.delete(namespaceKind, { name: namespace })
    await vi.waitFor(async () => expect(await client.get(namespaceKind, { name: namespace })).toBeUndefined(), soon)
    expect([await account(), await authority()]).toEqual([undefined, undefined])
  })

  it('says in its quotas how much is used', async () => {
    await vi.waitFor(async () => expectThere(await authority()), soon)
    const hard = { configmaps: '3', 'requests.memory': '1Gi' }
    await client.create(resourceQuotaKind, { metadata: { name: 'q', namespace }, spec: { hard } })
    const status = async () => (await client.get(resourceQuotaKind, { namespace, name: 'q' }))?.status
    await vi.waitFor(async () => {
      expect(await status()).toEqual({ hard, used: { configmaps: '1', 'requests.memory': '0' } })
    }, soon)
    await client.create(configMapKind, { metadata: { name: 'a', namespace } })
    await vi.waitFor(async () => expect((await status())?.used?.['configmaps']).toBe('2'), soon)
    await client.delete(configMapKind, { namespace, name: 'a' })
    await vi.waitFor(async () => expect((await status())?.used?.['configmaps']).toBe('1'), soon)
  })
})

function expectThere<T>(object: T | undefined): T {
  if (object === undefined) throw new Error('it is not there')
  return object
}
