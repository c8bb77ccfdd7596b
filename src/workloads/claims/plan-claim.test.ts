import { describe, expect, it } from 'vitest'
import type { PersistentVolumeClaim } from '../../resources/persistent-volume-claim.ts'
import type { PersistentVolume } from '../../resources/persistent-volume.ts'
import type { StorageClass } from '../../resources/storage-class.ts'
import { type ClaimFacts, planClaim, volumePhase } from './plan-claim.ts'
import { nodeVolumeDriver, nodeVolumeSource } from './node-volume.ts'

const claim = (spec: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data', namespace: 'default', uid: 'u1' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
})

const storageClass = (name: string, more: Partial<StorageClass> = {}): StorageClass => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name },
  provisioner: nodeVolumeDriver,
  ...more,
})

const byDefault = (name: string, createdAt: string) =>
  storageClass(name, {
    metadata: {
      name,
      creationTimestamp: createdAt,
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    },
  })

const volume = (spec: object = {}): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'v' },
  spec: { csi: nodeVolumeSource('data'), claimRef: { namespace: 'default', name: 'data' }, ...spec },
})

const standard = storageClass('standard')
const plan = (facts: Partial<ClaimFacts>) =>
  planClaim({ claim: claim(), classes: [standard], volume: undefined, hasConsumer: false, ...facts })
const waits = (reason: string, message: string) =>
  expect.objectContaining({ step: 'wait', reason, message: expect.stringContaining(message) as string })
const ofClass = (spec: object = {}) => claim({ storageClassName: 'standard', ...spec })

describe('planClaim', () => {
  it('gives a claim without a class the newest default', () => {
    const classes = [byDefault('old', '2030-01-01T00:00:00Z'), byDefault('new', '2030-01-02T00:00:00Z'), standard]
    expect(plan({ classes })).toEqual({ step: 'take class', className: 'new' })
    expect(plan({})).toEqual(waits('FailedBinding', 'no storage class is set'))
  })

  it('provisions once, then binds', () => {
    expect(plan({ claim: ofClass() })).toEqual({ step: 'provision', storageClass: standard })
    const made = volume()
    expect(plan({ claim: ofClass(), volume: made })).toEqual({ step: 'bind', volume: made })
  })

  it('waits for a first consumer where the class says so', () => {
    const classes = [storageClass('standard', { volumeBindingMode: 'WaitForFirstConsumer' })]
    expect(plan({ claim: ofClass(), classes })).toEqual(waits('WaitForFirstConsumer', 'first consumer'))
    expect(plan({ claim: ofClass(), classes, hasConsumer: true }).step).toBe('provision')
  })

  it.each([
    ['no class on purpose', { storageClassName: '' }, 'FailedBinding', 'name a storage class'],
    ['a class that is not there', { storageClassName: 'gp3' }, 'ProvisioningFailed', '"gp3" not found'],
    ['a selector', { selector: { matchLabels: { a: 'b' } } }, 'ProvisioningFailed', 'Selector is not supported'],
    ['a block device', { volumeMode: 'Block' }, 'ProvisioningFailed', 'Block is not supported'],
    ['a snapshot', { dataSource: { kind: 'VolumeSnapshot', name: 's' } }, 'ProvisioningFailed', 'DataSource'],
    ['one Pod only', { accessModes: ['ReadWriteOncePod'] }, 'ProvisioningFailed', 'ReadWriteOncePod'],
    ['a volume that is not there', { volumeName: 'v' }, 'FailedBinding', 'volume "v" not found'],
  ])('leaves a claim of %s pending and says why', (_what, spec, reason, message) => {
    expect(plan({ claim: ofClass(spec) })).toEqual(waits(reason, message))
  })

  it('leaves claims of other provisioners to them', () => {
    const classes = [storageClass('standard', { provisioner: 'ebs.csi.aws.com' })]
    expect(plan({ claim: ofClass(), classes })).toEqual(waits('ExternalProvisioning', "'ebs.csi.aws.com'"))
  })

  it('binds a named volume only when it is the one that Pods would find', () => {
    const named = claim({ volumeName: 'v' })
    expect(plan({ claim: named, volume: volume() }).step).toBe('bind')
    const refused: Array<[object, string]> = [
      [{ claimRef: undefined }, 'not made for this claim'],
      [{ csi: nodeVolumeSource('other') }, 'not made for this claim'],
      [{ csi: undefined, hostPath: { path: '/x' } }, 'this node mounts no others'],
      [{ claimRef: { namespace: 'default', name: 'other' } }, 'already bound to a different claim'],
      [{ claimRef: { namespace: 'default', name: 'data', uid: 'earlier' } }, 'already bound to a different claim'],
    ]
    for (const [spec, message] of refused) {
      expect(plan({ claim: named, volume: volume(spec) })).toEqual(waits('FailedBinding', message))
    }
  })
})

describe('volumePhase', () => {
  it('follows the claim that the volume is for', () => {
    const bound = claim({ volumeName: 'v' })
    const ours = { claimRef: { namespace: 'default', name: 'data', uid: 'u1' } }
    expect(volumePhase(volume({ claimRef: undefined }), undefined)).toBe('Available')
    expect(volumePhase(volume(ours), claim())).toBeUndefined()
    expect(volumePhase(volume(ours), bound)).toBe('Bound')
    expect(volumePhase(volume(ours), undefined)).toBe('Released')
    expect(volumePhase(volume(ours), { ...bound, metadata: { ...bound.metadata, uid: 'u2' } })).toBe('Released')
    expect(volumePhase(volume(), undefined)).toBe('Available')
  })
})
