import { beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { configMapKind } from '../../resources/config-map.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { podKind } from '../../resources/pod.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ClusterApi, type WriteOptions } from '../cluster-api.ts'
import { Foresight } from './foresight.ts'

const namespace = 'team'
let told: string[] = []
let api: ClusterApi

beforeEach(async () => {
  told = []
  const foresight = new Foresight(podKind, ({ metadata: { name, uid } }) => {
    const isThere = api.find(podKind, { namespace, name })?.metadata.uid === uid
    told.push(`${name}${isThere ? ' is there' : ''}`)
    return () => void told.push(`${name} is not written`)
  })
  api = new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock: systemClock, plugins: [foresight] })
  await api.create(namespaceKind, undefined, { metadata: { name: namespace } })
})

const createPod = (name: string, options?: WriteOptions) =>
  api.create(podKind, namespace, { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } }, options)

it('is told of a new object as it will be, before it is there', async () => {
  await createPod('a')
  await api.create(configMapKind, namespace, { metadata: { name: 'b' } })
  expect(told).toEqual(['a'])
})

it('is told when it was not written after all', async () => {
  await createPod('a')
  await expect(createPod('a')).rejects.toThrow('already exists')
  expect(told).toEqual(['a', 'a', 'a is not written'])
})

it('is not told of what a user makes, nor of what is only tried', async () => {
  await createPod('a', { user: { name: 'somebody', groups: [] } })
  await createPod('b', { dryRun: true })
  expect(told).toEqual([])
})
