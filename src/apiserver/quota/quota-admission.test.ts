import { describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { configMapKind } from '../../resources/config-map.ts'
import { deploymentKind } from '../../resources/deployment.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { podKind } from '../../resources/pod.ts'
import { resourceQuotaKind } from '../../resources/resource-quota.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ClusterApi } from '../cluster-api.ts'
import { QuotaAdmission } from './quota-admission.ts'
import { QuotaLedger } from './quota-ledger.ts'

const namespace = 'team'

function open(store = new MemoryStore()) {
  const ledger: QuotaLedger = new QuotaLedger({ store, kinds: () => api.kinds.list() })
  const plugins = [new QuotaAdmission(ledger)]
  const api: ClusterApi = new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock: systemClock, plugins })
  const pod = (name: string, cpu = '100m', labels = {}) =>
    api.create(podKind, namespace, {
      metadata: { name, labels },
      spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }] },
    })
  const quota = (hard: Record<string, string>) =>
    api.create(resourceQuotaKind, namespace, { metadata: { name: 'q' }, spec: { hard } })
  const used = () => ledger.usage(namespace, 'q')?.used
  return { store, ledger, api, pod, quota, used }
}

async function opened() {
  const parts = open()
  await parts.api.create(namespaceKind, undefined, { metadata: { name: namespace } })
  return parts
}

describe('quotas', () => {
  it('count what was there before them', async () => {
    const { pod, quota, used, ledger } = await opened()
    await pod('a', '0.25')
    await pod('b')
    await quota({ pods: '2', 'requests.cpu': '1' })
    expect(ledger.usage(namespace, 'q')).toEqual({
      hard: { pods: '2', 'requests.cpu': '1' },
      used: { pods: '2', 'requests.cpu': '350m' },
    })
    await expect(pod('c')).rejects.toThrow('exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2')
    expect(used()).toEqual({ pods: '2', 'requests.cpu': '350m' })
  })

  it('know after a restart what is used', async () => {
    const first = await opened()
    await first.quota({ 'requests.cpu': '1' })
    await first.pod('a', '700m')
    const second = open(first.store)
    await expect(second.pod('b', '400m')).rejects.toThrow('requested: requests.cpu=400m, used: requests.cpu=700m')
    expect(second.used()).toEqual({ 'requests.cpu': '700m' })
  })

  it('forget what is deleted, and what has ended as far as it needs nothing more', async () => {
    const { api, pod, quota, used } = await opened()
    await quota({ pods: '1', 'count/pods': '2', 'requests.cpu': '1' })
    const ended = await pod('a')
    await api.update(podKind, ended.metadata, { ...ended, status: { phase: 'Succeeded' } }, {}, 'status')
    expect(used()).toEqual({ pods: '0', 'count/pods': '1', 'requests.cpu': '0' })
    await pod('b', '1')
    await expect(pod('c')).rejects.toThrow('exceeded quota')
    await api.delete(podKind, { namespace, name: 'b' }, { graceSeconds: 0 })
    expect(used()).toEqual({ pods: '0', 'count/pods': '1', 'requests.cpu': '0' })
    await expect(pod('c')).resolves.toBeDefined()
  })

  it('hold nothing for what was not written in the end', async () => {
    const { pod, quota, used } = await opened()
    await quota({ pods: '2' })
    await pod('a')
    await expect(pod('a')).rejects.toThrow('already exists')
    const results = await Promise.allSettled([pod('b'), pod('b'), pod('b')])
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(used()).toEqual({ pods: '2' })
  })

  it('never let two writes have the last of something', async () => {
    const { pod, quota, used } = await opened()
    await quota({ 'requests.cpu': '1' })
    const results = await Promise.allSettled(Array.from({ length: 40 }, (_, index) => pod(`p-${index}`, '300m')))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    expect(used()).toEqual({ 'requests.cpu': '900m' })
  })

  it('follow their own changes, and end with the quota', async () => {
    const { api, pod, quota, used, ledger } = await opened()
    const told: string[] = []
    ledger.onChange((where, name) => told.push(`${where}/${name}`))
    const small = await quota({ pods: '0' })
    await expect(pod('a')).rejects.toThrow('limited: pods=0')
    await api.update(resourceQuotaKind, small.metadata, { ...small, spec: { hard: { pods: '1', configmaps: '5' } } })
    await pod('a')
    await api.create(configMapKind, namespace, { metadata: { name: 'c' } })
    expect(used()).toEqual({ pods: '1', configmaps: '1' })
    expect(new Set(told)).toEqual(new Set(['team/q']))
    await api.delete(resourceQuotaKind, { namespace, name: 'q' })
    expect(used()).toBeUndefined()
    await expect(pod('b')).resolves.toBeDefined()
  })

  it('cost no more with many objects than with few', async () => {
    const { pod, quota } = await opened()
    await quota({ pods: '10000', 'requests.cpu': '10000' })
    const batch = async (from: number) => {
      const begin = process.cpuUsage()
      for (let index = 0; index < 200; index++) await pod(`p-${from + index}`)
      const { user, system } = process.cpuUsage(begin)
      return user + system
    }
    await batch(0)
    const few = await batch(200)
    for (let index = 400; index < 2_000; index += 200) await batch(index)
    expect(await batch(2_000)).toBeLessThan(few * 4)
  })

  it('warn about a template of which not one Pod could ever be created', async () => {
    const { api, quota } = await opened()
    await quota({ 'requests.nvidia.com/gpu-h800': '2', 'limits.memory': '1Gi' })
    const apply = async (name: string, gpu: string, memory: string | undefined) => {
      const warnings: string[] = []
      const limits = { 'nvidia.com/gpu-h800': gpu, ...(memory !== undefined && { memory }) }
      const labels = { app: name }
      const template = {
        metadata: { labels },
        spec: { containers: [{ name: 'c', image: 'i', resources: { limits } }] },
      }
      const input = { metadata: { name }, spec: { selector: { matchLabels: labels }, template } }
      await api.create(deploymentKind, namespace, input, { warn: (text) => warnings.push(text) })
      return warnings
    }
    expect(await apply('fits', '2', '1Gi')).toEqual([])
    expect(await apply('large', '4', '2Gi')).toEqual([
      'no Pod can be created from this template: exceeded quota: q, requested: limits.memory=2Gi,requests.nvidia.com/gpu-h800=4, limited: limits.memory=1Gi,requests.nvidia.com/gpu-h800=2',
    ])
    expect(await apply('silent', '1', undefined)).toEqual([
      'no Pod can be created from this template: failed quota: q: must specify limits.memory for: c',
    ])
  })
})
