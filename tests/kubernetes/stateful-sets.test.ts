import { expect, it } from 'vitest'
import { persistentVolumeClaimKind } from '../../src/resources/persistent-volume-claim.ts'
import { podKind } from '../../src/resources/pod.ts'
import { statefulSetKind } from '../../src/resources/stateful-set.ts'
import { keepReady, soon, withControllers } from './controllers.ts'

const revisionLabel = 'controller-revision-hash'
const claim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
}

withControllers((server) => {
  const here = () => ({ namespace: server.namespace })
  const pods = async () => (await server.client.list(podKind, here())).items
  const names = async () => (await pods()).map(({ metadata }) => metadata.name).sort()
  const status = async () => (await server.client.get(statefulSetKind, { ...here(), name: 'db' }))?.status
  const isRolledOut = async () => {
    const found = await server.client.get(statefulSetKind, { ...here(), name: 'db' })
    const { observedGeneration, currentRevision, updateRevision, readyReplicas = 0, replicas } = found?.status ?? {}
    const wanted = found?.spec.replicas ?? 0
    const isNew = observedGeneration === found?.metadata.generation && currentRevision === updateRevision
    return isNew && readyReplicas === wanted && replicas === wanted
  }
  const create = (spec: Record<string, unknown> = {}) => {
    const labels = { app: 'db' }
    const mounted = 'volumeClaimTemplates' in spec && { volumeMounts: [{ name: 'data', mountPath: '/data' }] }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: server.image, ...mounted }] } }
    return server.ok('POST', server.path('statefulsets', 'apps/v1'), {
      metadata: { name: 'db' },
      spec: { replicas: 2, serviceName: 'db', selector: { matchLabels: labels }, template, ...spec },
    })
  }

  it('makes Pods one after the other, each with its name and its claim', async () => {
    await create({ volumeClaimTemplates: [claim] })
    await expect.poll(names, soon).toEqual(['db-0'])
    await expect.poll(async () => (await status())?.updatedReplicas, soon).toBe(1)
    expect(await names()).toEqual(['db-0'])
    const [first] = await pods()
    expect(first?.metadata).toMatchObject({
      generateName: 'db-',
      labels: {
        app: 'db',
        'statefulset.kubernetes.io/pod-name': 'db-0',
        'apps.kubernetes.io/pod-index': '0',
        [revisionLabel]: (await status())?.updateRevision,
      },
      ownerReferences: [{ kind: 'StatefulSet', name: 'db', controller: true, blockOwnerDeletion: true }],
    })
    expect(first?.spec).toMatchObject({ hostname: 'db-0', subdomain: 'db' })
    expect(first?.spec.volumes).toContainEqual({ name: 'data', persistentVolumeClaim: { claimName: 'data-db-0' } })
    await keepReady(server, isRolledOut)
    const claims = (await server.client.list(persistentVolumeClaimKind, here())).items
    expect(claims.map(({ metadata }) => [metadata.name, metadata.labels])).toEqual([
      ['data-db-0', { app: 'db' }],
      ['data-db-1', { app: 'db' }],
    ])
    expect(await status()).toMatchObject({
      replicas: 2,
      readyReplicas: 2,
      currentReplicas: 2,
      updatedReplicas: 2,
      availableReplicas: 2,
    })
    const events = await server.kubectl('get events --no-headers')
    expect(events).toMatch(/SuccessfulCreate +statefulset\/db +create Pod db-0 in StatefulSet db successful/)
    expect(events).toMatch(
      /SuccessfulCreate +statefulset\/db +create Claim data-db-1 Pod db-1 in StatefulSet db success/,
    )
  })

  it('rolls a change out from the last to the first, shows its history, and undoes it', async () => {
    await create()
    await keepReady(server, isRolledOut)
    const before = (await status())?.updateRevision
    await server.kubectl(`set image statefulset/db main=${server.image}2`)
    const revisions = async () =>
      (await pods()).map(({ metadata }) => `${metadata.name} ${metadata.labels?.[revisionLabel] === before}`)
    await expect.poll(revisions, soon).toEqual(['db-0 true', 'db-1 false'])
    await keepReady(server, isRolledOut)
    expect(await revisions()).toEqual(['db-0 false', 'db-1 false'])
    expect(await server.kubectl('rollout status statefulset/db --timeout=30s')).toContain('roll out complete')
    expect(await server.kubectl('rollout history statefulset/db')).toMatch(/1 +<none>\n2 +<none>/)
    await server.kubectl('rollout undo statefulset/db')
    await expect.poll(async () => (await status())?.updateRevision, soon).toBe(before)
    await keepReady(server, isRolledOut)
    expect(await server.kubectl('rollout history statefulset/db')).toMatch(/\n2 +<none>\n3 +<none>/)
  })

  it('leaves Pods below the partition as they were, also when they are made anew', async () => {
    await create({ updateStrategy: { rollingUpdate: { partition: 1 } } })
    await keepReady(server, async () => (await status())?.readyReplicas === 2)
    await server.kubectl('set env statefulset/db A=1')
    await keepReady(
      server,
      async () => (await status())?.updatedReplicas === 1 && (await status())?.readyReplicas === 2,
    )
    const update = (await status())?.updateRevision
    const [first] = await pods()
    await server.ok('DELETE', server.path('pods/db-0'))
    await expect
      .poll(async () => (await pods())[0]?.metadata.uid !== first?.metadata.uid && (await names()).length === 2, soon)
      .toBe(true)
    expect((await pods()).map(({ metadata }) => metadata.labels?.[revisionLabel] === update)).toEqual([false, true])
  })

  it('replaces Pods only when they are deleted, where it is told to', async () => {
    await create({ updateStrategy: { type: 'OnDelete' } })
    await keepReady(server, async () => (await status())?.readyReplicas === 2)
    const before = (await status())?.updateRevision
    await server.kubectl('set env statefulset/db A=1')
    await expect.poll(async () => (await status())?.updateRevision !== before, soon).toBe(true)
    await server.ok('DELETE', server.path('pods/db-1'))
    await keepReady(server, async () => (await status())?.updatedReplicas === 1 && (await names()).length === 2)
    expect((await pods()).map(({ metadata }) => metadata.labels?.[revisionLabel] === before)).toEqual([true, false])
  })

  it('makes and takes Pods together, where it is told to, and keeps or deletes their claims', async () => {
    await create({
      podManagementPolicy: 'Parallel',
      replicas: 3,
      volumeClaimTemplates: [claim],
      persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted: 'Retain' },
    })
    await expect.poll(names, soon).toEqual(['db-0', 'db-1', 'db-2'])
    await keepReady(server, isRolledOut)
    await server.kubectl('scale statefulset/db --replicas=1')
    await expect.poll(names, soon).toEqual(['db-0'])
    const owners = async () =>
      (await server.client.list(persistentVolumeClaimKind, here())).items
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.name)
    // A real server's claims have a protection finalizer that nobody removes here, so they are only marked.
    await expect.poll(owners, soon).toEqual(['data-db-0'])
  })
})
