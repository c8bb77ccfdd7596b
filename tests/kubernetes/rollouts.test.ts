import { expect, it } from 'vitest'
import { deploymentKind } from '../../src/resources/deployment.ts'
import { podKind } from '../../src/resources/pod.ts'
import { replicaSetKind } from '../../src/resources/replica-set.ts'
import type { ContractServer } from './contract-server.ts'
import { keepReady, readyStatus, reportPod, soon, withControllers } from './controllers.ts'
import { deployment } from './objects.ts'

const revision = 'deployment.kubernetes.io/revision'

withControllers((server) => {
  const { pods, sets, conditions, create, rollOut } = views(server)

  it('makes a ReplicaSet and Pods of a Deployment, and tells so', async () => {
    await create('web')
    await expect.poll(async () => (await pods()).length, soon).toBe(2)
    const [set] = await sets()
    const hash = set?.metadata.labels?.['pod-template-hash'] ?? ''
    expect(set?.metadata).toMatchObject({
      name: `web-${hash}`,
      labels: { app: 'web' },
      annotations: {
        [revision]: '1',
        'deployment.kubernetes.io/desired-replicas': '2',
        'deployment.kubernetes.io/max-replicas': '3',
      },
      ownerReferences: [{ kind: 'Deployment', name: 'web', controller: true, blockOwnerDeletion: true }],
    })
    expect(set?.spec.selector.matchLabels).toEqual({ app: 'web', 'pod-template-hash': hash })
    const [pod] = await pods()
    expect(pod?.metadata.name).toMatch(new RegExp(`^web-${hash}-[a-z0-9]{5}$`))
    expect(pod?.metadata).toMatchObject({
      generateName: `web-${hash}-`,
      labels: { app: 'web', 'pod-template-hash': hash },
    })
    await expect
      .poll(() => conditions('web'), soon)
      .toEqual({
        Available: ['False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.'],
        Progressing: ['True', 'ReplicaSetUpdated', `ReplicaSet "web-${hash}" is progressing.`],
      })
    await rollOut('web')
    expect(await conditions('web')).toEqual({
      Available: ['True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.'],
      Progressing: ['True', 'NewReplicaSetAvailable', `ReplicaSet "web-${hash}" has successfully progressed.`],
    })
    const events = async () => await server.kubectl('get events --no-headers')
    await expect
      .poll(events, soon)
      .toMatch(new RegExp(`ScalingReplicaSet +deployment/web +Scaled up replica set web-${hash} from 0 to 2`))
    await expect
      .poll(events, soon)
      .toMatch(new RegExp(`SuccessfulCreate +replicaset/web-${hash} +Created pod: web-${hash}-`))
  })

  it('rolls a change out, shows its history, and undoes it', async () => {
    await create('web')
    await rollOut('web')
    await server.kubectl(`set image deployment/web main=${server.image}2`)
    await expect.poll(async () => (await pods()).length, soon).toBe(3)
    await rollOut('web')
    expect(await server.kubectl('rollout status deployment/web --timeout=30s')).toContain('successfully rolled out')
    expect(await server.kubectl('rollout history deployment/web')).toMatch(/1 +<none>\n2 +<none>/)
    expect(await server.kubectl('rollout undo deployment/web')).toContain('rolled back')
    await rollOut('web')
    expect(await server.kubectl('rollout history deployment/web')).toMatch(/\n2 +<none>\n3 +<none>/)
    const first = (await sets()).find(({ spec }) => spec.replicas === 2)
    expect(first?.metadata.annotations).toMatchObject({
      [revision]: '3',
      'deployment.kubernetes.io/revision-history': '1',
    })
    expect(await server.kubectl('rollout restart deployment/web')).toContain('restarted')
    await rollOut('web')
    expect(await sets()).toHaveLength(3)
  })

  it('stands still while it is paused, but for its size', async () => {
    await create('web')
    await rollOut('web')
    await server.kubectl('rollout pause deployment/web')
    await expect.poll(async () => (await conditions('web'))['Progressing']?.[1], soon).toBe('DeploymentPaused')
    await server.kubectl(`set image deployment/web main=${server.image}2`)
    await server.kubectl('scale deployment/web --replicas=3')
    await expect.poll(async () => (await pods()).length, soon).toBe(3)
    expect(await sets()).toHaveLength(1)
    await server.kubectl('rollout resume deployment/web')
    await rollOut('web')
    expect(await sets()).toHaveLength(2)
  })

  it('spreads a new size over a rollout that is under way', async () => {
    const strategy = { rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } }
    const sizes = async () => (await sets()).map(({ spec }) => spec.replicas).sort((a = 0, b = 0) => b - a)
    await create('web', { replicas: 10, strategy })
    await rollOut('web')
    await server.kubectl(`set image deployment/web main=${server.image}2`)
    await expect.poll(sizes, soon).toEqual([8, 5])
    await server.kubectl('scale deployment/web --replicas=15')
    await expect.poll(sizes, soon).toEqual([11, 7])
    await server.kubectl('scale deployment/web --replicas=5')
    await expect.poll(sizes, soon).toEqual([5, 3])
    await rollOut('web')
  })

  it('lets all old Pods end before it begins, where it is told to', async () => {
    await create('web', { strategy: { type: 'Recreate' } })
    await rollOut('web')
    const [held] = await pods()
    const hold = (finalizers: string[] | null) =>
      server.patch(server.path(`pods/${held?.metadata.name}`), 'merge', { metadata: { finalizers } })
    await hold(['test/hold'])
    await server.kubectl(`set image deployment/web main=${server.image}2`)
    await expect.poll(async () => (await pods()).length, soon).toBe(1)
    expect(await sets()).toHaveLength(1)
    await hold(null)
    await expect.poll(async () => (await pods()).length, soon).toBe(2)
    await rollOut('web')
  })

  it('says when a rollout does not progress', async () => {
    await create('web', { progressDeadlineSeconds: 1 })
    await expect
      .poll(async () => (await conditions('web'))['Progressing']?.slice(0, 2), soon)
      .toEqual(['False', 'ProgressDeadlineExceeded'])
    expect(await server.kubectlRefused('rollout status deployment/web --timeout=30s')).toContain(
      'exceeded its progress deadline',
    )
    await rollOut('web')
    expect((await conditions('web'))['Progressing']?.slice(0, 2)).toEqual(['True', 'NewReplicaSetAvailable'])
  })

  it('keeps as much history as it is told to', async () => {
    await create('web', { replicas: 1, revisionHistoryLimit: 1 })
    for (const tag of ['2', '3', '4']) {
      await rollOut('web')
      await server.kubectl(`set image deployment/web main=${server.image}${tag}`)
    }
    await rollOut('web')
    const revisions = async () => (await sets()).map(({ metadata }) => metadata.annotations?.[revision] ?? '').sort()
    await expect.poll(revisions, soon).toEqual(['3', '4'])
  })

  it('lets go of a Pod that it does not select any more, and takes it in again', async () => {
    await create('web')
    await rollOut('web')
    const name = (await pods())[0]?.metadata.name ?? ''
    const owners = async () =>
      (await server.client.get(podKind, { namespace: server.namespace, name }))?.metadata.ownerReferences
    await server.kubectl(`label pod ${name} app=other --overwrite`)
    await expect.poll(owners, soon).toBeUndefined()
    await expect
      .poll(async () => (await pods()).filter(({ metadata }) => metadata.labels?.['app'] === 'web').length, soon)
      .toBe(2)
    await server.kubectl(`label pod ${name} app=web --overwrite`)
    // Once it is adopted there is one too many: one that is not ready goes, not this one.
    await expect.poll(async () => (await pods()).length, soon).toBe(2)
    expect(await owners()).toMatchObject([{ kind: 'ReplicaSet', controller: true }])
  })

  it('replaces a Pod that failed, and leaves it to be looked at', async () => {
    await create('web')
    await rollOut('web')
    const [failing] = (await server.ok('GET', server.path('pods'))).items
    if (failing) await reportPod(server, failing, { phase: 'Failed', conditions: [] })
    await expect
      .poll(async () => (await pods()).map(({ status }) => status?.phase ?? '').sort(), soon)
      .toEqual(['Failed', 'Pending', 'Running'])
  })

  it('is available only after Pods were ready for long enough', async () => {
    await create('web', { replicas: 1, minReadySeconds: 2 })
    await expect.poll(async () => (await pods()).length, soon).toBe(1)
    const [pod] = (await server.ok('GET', server.path('pods'))).items
    if (pod) await reportPod(server, pod, readyStatus())
    const status = async () =>
      (await server.client.get(deploymentKind, { namespace: server.namespace, name: 'web' }))?.status
    await expect.poll(async () => (await status())?.readyReplicas, soon).toBe(1)
    expect((await status())?.availableReplicas).toBeUndefined()
    await expect.poll(async () => (await status())?.availableReplicas, soon).toBe(1)
  })
})

function views(server: ContractServer) {
  const here = () => ({ namespace: server.namespace })
  const get = () => server.client.list(deploymentKind, here())
  return {
    pods: async () => (await server.client.list(podKind, here())).items,
    sets: async () => (await server.client.list(replicaSetKind, here())).items,
    create: (name: string, spec: Record<string, unknown> = {}) =>
      server.ok('POST', server.path('deployments', 'apps/v1'), deployment(name, server.image, spec)),
    conditions: async (name: string): Promise<Record<string, unknown[]>> => {
      const found = (await get()).items.find(({ metadata }) => metadata.name === name)
      const all = found?.status?.conditions ?? []
      return Object.fromEntries(all.map(({ type, status, reason, message }) => [type, [status, reason, message]]))
    },
    rollOut: (name: string) =>
      keepReady(server, async () => {
        const found = (await get()).items.find(({ metadata }) => metadata.name === name)
        const { observedGeneration, replicas, updatedReplicas, availableReplicas, conditions } = found?.status ?? {}
        const isNew = observedGeneration === found?.metadata.generation
        const all = [replicas, updatedReplicas, availableReplicas].every((count) => count === found?.spec.replicas)
        return isNew && all && conditions?.some(({ reason }) => reason === 'NewReplicaSetAvailable') === true
      }),
  }
}
