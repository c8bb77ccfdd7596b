import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { eventKind } from '../../resources/event.ts'
import { modelKind } from '../../resources/model.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { persistentVolumeClaimKind } from '../../resources/persistent-volume-claim.ts'
import { persistentVolumeKind } from '../../resources/persistent-volume.ts'
import { podKind } from '../../resources/pod.ts'
import { storageClassKind } from '../../resources/storage-class.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { claimProtection, nodeVolumeDriver, nodeVolumeSource, volumeProtection } from './node-volume.ts'
import { WorkloadControllers } from '../workload-controllers.ts'

const namespace = 'default'
const soon = { timeout: 20_000, interval: 10 }

let client: EmbeddedClient
let controllers: WorkloadControllers
/** The folders of the node, by claim. */
let folders: Map<string, string[]>

beforeEach(async () => {
  const api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock: systemClock })
  client = new EmbeddedClient(api)
  folders = new Map()
  for (const name of [namespace, 'other']) await client.create(namespaceKind, { metadata: { name } })
  await client.create(storageClassKind, {
    metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: nodeVolumeDriver,
  })
  controllers = new WorkloadControllers({
    client,
    finalizeNamespace: (name) => client.finalizeNamespace(name),
    servedKinds: () => client.servedKinds(),
    claimFolders: {
      async prepare(claim, where) {
        const key = where === namespace ? claim : `${claim}@${where}`
        const files = folders.get(key) ?? []
        folders.set(key, files)
        return files.length === 0 ? 'empty' : 'filled'
      },
      async remove(claim, where) {
        folders.delete(where === namespace ? claim : `${claim}@${where}`)
      },
    },
    clock: systemClock,
    log: silentLogger,
  })
  await controllers.start(new AbortController().signal)
})
afterEach(() => controllers.stop())

const createClaim = (name: string, spec: object = {}, where = namespace) =>
  client.create(persistentVolumeClaimKind, {
    metadata: { name, namespace: where },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  })
const claim = (name: string, where = namespace) => client.get(persistentVolumeClaimKind, { name, namespace: where })
const phase = (name: string) => async () => (await claim(name))?.status?.phase
const volumes = async () => (await client.list(persistentVolumeKind)).items
const deleteClaim = (name: string) => client.delete(persistentVolumeClaimKind, { name, namespace })
const events = async () =>
  (await client.list(eventKind, {})).items.map(({ reason, message }) => `${reason ?? ''}: ${message ?? ''}`)
const createPod = (name: string, claimName: string) =>
  client.create(podKind, {
    metadata: { name, namespace },
    spec: {
      nodeName: 'here',
      containers: [{ name: 'main', image: 'i' }],
      volumes: [{ name: 'd', persistentVolumeClaim: { claimName } }],
    },
  })
const bound = async (name: string) => {
  await expect.poll(phase(name), soon).toBe('Bound')
  const volume = (await volumes()).find(({ spec }) => spec.claimRef?.name === name)
  await expect
    .poll(
      async () => (await client.get(persistentVolumeKind, { name: volume?.metadata.name ?? '' }))?.status?.phase,
      soon,
    )
    .toBe('Bound')
  return volume
}

describe('a claim', () => {
  it('gets the default class, a volume of its own, and says so', async () => {
    const { metadata } = await createClaim('data')
    const volume = await bound('data')
    expect(volume).toMatchObject({
      metadata: { name: `pvc-${metadata.uid}`, finalizers: [volumeProtection] },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Delete',
        storageClassName: 'standard',
        claimRef: { namespace, name: 'data', uid: metadata.uid },
        csi: { driver: nodeVolumeDriver, volumeHandle: 'data' },
      },
    })
    expect(await claim('data')).toMatchObject({
      metadata: { finalizers: [claimProtection] },
      spec: { volumeName: volume?.metadata.name, storageClassName: 'standard' },
      status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } },
    })
    await expect
      .poll(events, soon)
      .toContain(`ProvisioningSucceeded: Successfully provisioned volume pvc-${metadata.uid}`)
  })

  it('grows with what is asked for', async () => {
    await createClaim('data')
    await bound('data')
    const more = { spec: { resources: { requests: { storage: '2Gi' } } } }
    await client.patch(persistentVolumeClaimKind, { name: 'data', namespace }, more)
    await expect.poll(async () => (await claim('data'))?.status?.capacity, soon).toEqual({ storage: '2Gi' })
    expect((await volumes())[0]?.spec.capacity).toEqual({ storage: '2Gi' })
  })

  it('stays pending with an Event when it asks for what is not there, and is bound when it comes', async () => {
    await createClaim('data', { storageClassName: 'fast' })
    await expect.poll(events, soon).toContain('ProvisioningFailed: storageclass.storage.k8s.io "fast" not found')
    expect(await phase('data')()).toBe('Pending')
    await client.create(storageClassKind, {
      metadata: { name: 'fast' },
      provisioner: nodeVolumeDriver,
      reclaimPolicy: 'Retain',
    })
    expect((await bound('data'))?.spec.persistentVolumeReclaimPolicy).toBe('Retain')
  })

  it('that is deleted waits for its Pod, then takes its volume and its files along', async () => {
    await createClaim('data')
    await bound('data')
    await createPod('user', 'data')
    await deleteClaim('data')
    // Bound after the deletion was seen, so there was a chance to release it wrongly.
    await createClaim('later')
    await bound('later')
    expect((await claim('data'))?.metadata.deletionTimestamp).toBeDefined()
    expect(folders.has('data')).toBe(true)
    await client.delete(podKind, { name: 'user', namespace }, { graceSeconds: 0 })
    await expect.poll(() => claim('data'), soon).toBeUndefined()
    expect([...folders.keys()]).toEqual(['later'])
    expect((await volumes()).map(({ spec }) => spec.claimRef?.name)).toEqual(['later'])
  })

  it('keeps files that were there before it, and its volume stays until it is deleted itself', async () => {
    folders.set('models', ['model.gguf'])
    await createClaim('models')
    const name = (await bound('models'))?.metadata.name ?? ''
    await deleteClaim('models')
    await expect.poll(async () => (await volumes())[0]?.status?.phase, soon).toBe('Released')
    await client.delete(persistentVolumeKind, { name })
    await expect.poll(volumes, soon).toEqual([])
    expect(folders.get('models')).toEqual(['model.gguf'])
  })

  it('leaves files to a Model that is served from them', async () => {
    await client.create(modelKind, {
      metadata: { name: 'm', namespace },
      spec: { url: 'pvc://weights/m', engine: 'LlamaCpp', minReplicas: 0 },
    })
    await createClaim('weights')
    await bound('weights')
    await deleteClaim('weights')
    await expect.poll(volumes, soon).toEqual([])
    expect([...folders.keys()]).toEqual(['weights'])
    await expect
      .poll(events, soon)
      .toContain(`FilesKept: the files of the claim weights stay: the Model ${namespace}/m needs them`)
  })

  it('has files of its own, and takes them along, whatever a claim of the same name elsewhere has', async () => {
    await createClaim('shared')
    await createClaim('shared', {}, 'other')
    await bound('shared')
    await expect.poll(() => [...folders.keys()].toSorted(), soon).toEqual(['shared', 'shared@other'])
    await deleteClaim('shared')
    await expect
      .poll(async () => (await volumes()).map(({ spec }) => spec.claimRef?.namespace), soon)
      .toEqual(['other'])
    expect([...folders.keys()]).toEqual(['shared@other'])
  })

  it('that was taken away by force has its volume reclaimed all the same', async () => {
    await createClaim('data')
    await bound('data')
    await controllers.stop()
    await client.patch(persistentVolumeClaimKind, { name: 'data', namespace }, { metadata: { finalizers: [] } })
    await deleteClaim('data')
    controllers = new WorkloadControllers({
      client,
      finalizeNamespace: (name) => client.finalizeNamespace(name),
      clock: systemClock,
      log: silentLogger,
    })
    await controllers.start(new AbortController().signal)
    await expect.poll(volumes, soon).toEqual([])
  })

  it('says when its volume is lost', async () => {
    await createClaim('data')
    const name = (await bound('data'))?.metadata.name ?? ''
    await client.delete(persistentVolumeKind, { name })
    expect((await volumes())[0]?.metadata.deletionTimestamp).toBeDefined()
    await client.patch(persistentVolumeKind, { name }, { metadata: { finalizers: [] } })
    await expect.poll(phase('data'), soon).toBe('Lost')
    await expect.poll(events, soon).toContainEqual(expect.stringContaining('ClaimLost'))
  })
})

describe('a volume that somebody made for a claim', () => {
  it('is bound to it, outlives it, and is bound to it again', async () => {
    await client.create(persistentVolumeKind, {
      metadata: { name: 'kept' },
      spec: {
        capacity: { storage: '1Ti' },
        accessModes: ['ReadWriteMany'],
        claimRef: { namespace, name: 'kept' },
        csi: nodeVolumeSource('kept'),
      },
    })
    folders.set('kept', ['file'])
    const wish = { volumeName: 'kept', accessModes: ['ReadWriteMany'] }
    await createClaim('kept', wish)
    await bound('kept')
    expect((await claim('kept'))?.status?.capacity).toEqual({ storage: '1Ti' })
    await deleteClaim('kept')
    await expect.poll(async () => (await volumes())[0]?.status?.phase, soon).toBe('Available')
    await createClaim('kept', wish)
    await bound('kept')
    expect(folders.get('kept')).toEqual(['file'])
  })
})
