import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { Cgroups } from '../../src/node/isolation/cgroups.ts'
import { clusterKind } from '../../src/resources/cluster.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { modelKind } from '../../src/resources/model.ts'
import { nodeKind } from '../../src/resources/node.ts'
import { podKind } from '../../src/resources/pod.ts'
import { secretKind } from '../../src/resources/secret.ts'
import {
  administratorOf,
  card,
  figuresOf,
  isRunning,
  memoryOfAll,
  pidOf,
  podWith,
  reasonOf,
  sluiceCluster,
  untilPhase,
  untilPod,
} from '../support/cluster-stage.ts'
import { SluiceProcess, until } from '../support/sluice-process.ts'

const flags = ['--no-demo-model', '--no-gateway', '--gpus', `${card}=2`]

describe('a second embedded cluster', () => {
  let data: string
  let sluice: SluiceProcess
  let home: KubernetesClient
  let homeId: string
  const clients: KubernetesClient[] = []

  const administrator = async (name: string) => {
    const { client, kubeconfig } = await administratorOf(sluice, name)
    clients.push(client)
    return { client, kubeconfig }
  }
  const start = async (more = flags) => {
    sluice = await SluiceProcess.start(data, more)
    home = await connectKubernetes(sluice.kubeconfig)
    clients.push(home)
    homeId = sluice.endpoints.clusterId
  }
  const idOf = async (name: string) => (await home.get(clusterKind, { name }))?.status?.id ?? ''
  const gpuOf = async (id: string) => (await figuresOf(sluice, id)).data?.utilizationRate.gpu[0]

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'sluice-clusters-'))
    await start()
  })

  afterAll(async () => {
    for (const client of clients) client.close()
    await sluice?.stop().catch(() => sluice.destroy())
    rmSync(data, { recursive: true, force: true })
  })

  it('is made by one command, with an ID that nobody guesses, and has its own objects and credentials', async () => {
    const said = await sluiceCluster(data, 'create', 'two', '--quota', `cpu=1,memory=1Gi,${card}=1`)
    const id = await idOf('two')
    expect(id).toMatch(/^vks[a-z0-9]{9}$/)
    expect(said).toContain(`ID:             ${id}`)
    expect(said).toContain('Status:         Running')
    expect(await sluiceCluster(data, 'list')).toMatch(new RegExp(`two +${id} +Running +embedded`))

    const { client: two } = await administrator('two')
    expect(two.server).toBe(`${sluice.endpoints.controlPlane.replace(homeId, '')}${id}`)
    await two.create(configMapKind, { metadata: { name: 'ours', namespace: 'default' }, data: { of: 'two' } })
    expect(await home.get(configMapKind, { namespace: 'default', name: 'ours' })).toBeUndefined()
    // What tells of clusters and keys is in the home cluster alone.
    await expect(two.list(clusterKind)).rejects.toMatchObject({ reason: 'NotFound' })
    const model = { metadata: { name: 'm', namespace: 'sluice' }, spec: aModel }
    await expect(two.create(modelKind, model)).rejects.toThrow(/no gateway is installed in this cluster.*home cluster/)
  })

  it('runs Pods within its quota, and shares the cards of the machine with the home cluster', async () => {
    const { client: two } = await administrator('two')
    const [node] = (await two.list(nodeKind)).items
    expect(node?.status?.capacity).toMatchObject({ cpu: '1', memory: '1048576Ki', [card]: '1' })
    expect(node?.status?.allocatable).toMatchObject({ memory: '1048576Ki' })

    await two.create(podKind, podWith(sluice, 'first', { [card]: '1' }))
    await two.create(podKind, podWith(sluice, 'second', { [card]: '1' }))
    await untilPod(two, 'first', 'running', isRunning)
    const unplaced = await untilPod(two, 'second', 'refused a node', (pod) => pod?.status?.conditions?.length === 1)
    expect(unplaced?.status?.conditions?.[0]?.message).toContain(`Insufficient ${card}`)
    // Who names the node gets no more either: the quota is not only the scheduler's.
    const placed = podWith(sluice, 'placed', { [card]: '1' })
    await two.create(podKind, { ...placed, spec: { ...placed.spec, nodeName: node?.metadata.name ?? '' } })
    await untilPod(two, 'placed', 'waiting', (pod) =>
      (pod?.status?.containerStatuses?.[0]?.state?.waiting?.message ?? '').includes('0 free'),
    )
    await two.delete(podKind, { namespace: 'default', name: 'placed' }, { graceSeconds: 0 })
    expect(await gpuOf(await idOf('two'))).toMatchObject({ name: card, hard: 1, used: 1 })
    expect(await gpuOf(homeId)).toMatchObject({ hard: 2, used: 0 })

    // Of two cards one is left for the home cluster, until the other cluster lets go of its own.
    await home.create(podKind, podWith(sluice, 'a', { [card]: '1' }))
    await untilPod(home, 'a', 'running', isRunning)
    await home.create(podKind, podWith(sluice, 'b', { [card]: '1' }))
    await untilPod(home, 'b', 'refused a node', (pod) =>
      (pod?.status?.conditions?.[0]?.message ?? '').includes(`Insufficient ${card}`),
    )
    await two.delete(podKind, { namespace: 'default', name: 'second' })
    await two.delete(podKind, { namespace: 'default', name: 'first' })
    await untilPod(home, 'b', 'running', isRunning)
    expect(await gpuOf(homeId)).toMatchObject({ hard: 2, used: 2 })
    await home.delete(podKind, { namespace: 'default', name: 'a' })
    await home.delete(podKind, { namespace: 'default', name: 'b' })
    await untilPod(home, 'b', 'gone', (pod) => pod === undefined)
  })

  it('has more of the machine when its quota is changed, without a restart', async () => {
    const { client: two } = await administrator('two')
    await home.patch(clusterKind, { name: 'two' }, { spec: { quota: { [card]: '2', memory: '2Gi' } } })
    await until('the Node to have more', 20_000, async () => {
      const [node] = (await two.list(nodeKind)).items
      return node?.status?.capacity?.[card] === '2' && node.status.capacity['memory'] === '2097152Ki'
    })
    expect(await gpuOf(await idOf('two'))).toMatchObject({ hard: 2, used: 0 })
  })

  it.skipIf(!Cgroups.onThisMachine('none').support.memory)(
    'has its Pods held to its quota by the kernel, all together, also one without limits',
    async () => {
      const { client: two } = await administrator('two')
      await two.create(podKind, podWith(sluice, 'unlimited'))
      const pid = pidOf(await untilPod(two, 'unlimited', 'running', isRunning))
      expect(memoryOfAll(pid)).toBe(2 * 2 ** 30)
      await home.patch(clusterKind, { name: 'two' }, { spec: { quota: { memory: '1Gi' } } })
      await until('the limit to be less', 20_000, () => memoryOfAll(pid) === 2 ** 30)
      await two.delete(podKind, { namespace: 'default', name: 'unlimited' })
    },
  )

  it('is there again after a restart, with its ID, its credentials and its Pods', async () => {
    const { client: two, kubeconfig } = await administrator('two')
    const id = await idOf('two')
    await two.create(podKind, podWith(sluice, 'stays', { [card]: '1' }))
    await untilPod(two, 'stays', 'running', isRunning)
    await sluice.stop()
    await start()
    const cluster = await untilPhase(home, 'two', 'Running')
    expect(cluster.status?.id).toBe(id)
    // The port is another one; everything else of the kubeconfig is as it was.
    const { client: again, kubeconfig: now } = await administrator('two')
    expect(now).toBe(kubeconfig)
    expect(await again.get(configMapKind, { namespace: 'default', name: 'ours' })).toMatchObject({
      data: { of: 'two' },
    })
    await untilPod(again, 'stays', 'running', isRunning)
    expect(await gpuOf(id)).toMatchObject({ used: 1 })
  })

  it('has its Pods run on when sluice is killed, and nobody else gets their cards', async () => {
    const { client: two } = await administrator('two')
    const pidIn = async (client: KubernetesClient) => pidOf(await untilPod(client, 'stays', 'running', isRunning))
    const pid = await pidIn(two)
    await sluice.killHard()
    await start()
    await home.create(podKind, podWith(sluice, 'greedy', { [card]: '2' }))
    await untilPod(home, 'greedy', 'refused a node', (pod) =>
      (pod?.status?.conditions?.[0]?.message ?? '').includes(`Insufficient ${card}`),
    )
    await untilPhase(home, 'two', 'Running')
    const { client: again } = await administrator('two')
    expect(await pidIn(again)).toBe(pid)
    expect((await home.get(podKind, { namespace: 'default', name: 'greedy' }))?.spec.nodeName).toBeUndefined()
    await home.delete(podKind, { namespace: 'default', name: 'greedy' }, { graceSeconds: 0 })
  })

  it('is Abnormal while no node is Ready, and says so', async () => {
    const { client: two } = await administrator('two')
    const [node] = (await two.list(nodeKind)).items
    if (!node) throw new Error('it has no node')
    const conditions = [{ type: 'Ready', status: 'False' as const, reason: 'Tried' }]
    await two.updateStatus(nodeKind, { ...node, status: { ...node.status, conditions } })
    const abnormal = await untilPhase(home, 'two', 'Abnormal')
    expect(reasonOf(abnormal)).toBe('NoNodeReady')
    expect((await figuresOf(sluice, await idOf('two'))).data?.status).toBe('Abnormal')
    // Its node reports again within half a minute.
    await untilPhase(home, 'two', 'Running')
  })

  it('stops its Pods and frees their cards when it is deleted, and keeps its data for one of the same name', async () => {
    const { client: two } = await administrator('two')
    const id = await idOf('two')
    await untilPod(two, 'stays', 'running', isRunning)
    const held = await two.get(podKind, { namespace: 'default', name: 'stays' })
    const pid = pidOf(held)
    expect(existsSync(`/proc/${pid}`)).toBe(true)

    // Held for a moment, so that what is shown while it goes can be seen.
    await home.patch(clusterKind, { name: 'two' }, { metadata: { finalizers: ['test/watch', 'sluice.dev/cluster'] } })
    await home.delete(clusterKind, { name: 'two' })
    const deleting = await untilPhase(home, 'two', 'Deleting')
    expect(deleting.metadata.deletionTimestamp).toBeDefined()
    expect((await figuresOf(sluice, id)).data?.status).toBe('Deleting')
    await until('its process to end', 20_000, () => !existsSync(`/proc/${pid}`))
    await until('its part to be done', 20_000, async () => {
      const { finalizers = [] } = (await home.get(clusterKind, { name: 'two' }))?.metadata ?? {}
      return finalizers.join() === 'test/watch'
    })
    await home.patch(clusterKind, { name: 'two' }, { metadata: { finalizers: [] } })
    await until('it to be gone', 20_000, async () => (await home.get(clusterKind, { name: 'two' })) === undefined)
    await expect(two.list(podKind)).rejects.toThrow(/there is nothing here|certificate|altnames/)
    expect(await home.get(secretKind, { namespace: 'sluice', name: 'two-kubeconfig' })).toBeUndefined()
    expect(await figuresOf(sluice, id)).toMatchObject({ code: -1 })

    await home.create(podKind, podWith(sluice, 'both', { [card]: '2' }))
    await untilPod(home, 'both', 'running', isRunning)
    await home.delete(podKind, { namespace: 'default', name: 'both' })
    await untilPod(home, 'both', 'gone', (pod) => pod === undefined)

    await sluiceCluster(data, 'create', 'two')
    expect(await idOf('two')).toBe(id)
    const { client: again } = await administrator('two')
    expect(await again.get(configMapKind, { namespace: 'default', name: 'ours' })).toMatchObject({
      data: { of: 'two' },
    })
  })

  it('goes with its data when it is purged', async () => {
    const id = await idOf('two')
    expect(await sluiceCluster(data, 'delete', 'two', '--purge')).toContain('and its data with it')
    expect(readdirSync(join(data, 'clusters'))).toEqual([])
    await sluiceCluster(data, 'create', 'two')
    expect(await idOf('two')).not.toBe(id)
    const { client: anew } = await administrator('two')
    expect(await anew.get(configMapKind, { namespace: 'default', name: 'ours' })).toBeUndefined()
    await sluiceCluster(data, 'delete', 'two')
  })

  it('says why the home cluster cannot be deleted, whoever asks', async () => {
    await expect(home.delete(clusterKind, { name: homeId })).rejects.toMatchObject({
      reason: 'Forbidden',
      message: expect.stringContaining('this is the home cluster: it holds all others'),
    })
    await expect(sluiceCluster(data, 'delete', homeId)).rejects.toThrow('this is the home cluster')
    expect((await home.get(clusterKind, { name: homeId }))?.metadata.deletionTimestamp).toBeUndefined()
  })

  it('fails a Pod whose cards are not there any more after a restart, and counts nothing for it', async () => {
    await home.create(podKind, podWith(sluice, 'large', { [card]: '2' }))
    await untilPod(home, 'large', 'running', isRunning)
    await sluice.stop()
    await start(['--no-demo-model', '--no-gateway', '--gpus', `${card}=1`])
    const failed = await untilPod(home, 'large', 'failed', (pod) => pod?.status?.phase === 'Failed')
    expect(failed?.status).toMatchObject({
      reason: `OutOf${card}`,
      message: expect.stringContaining(`asks for 2 × ${card}, and there is 1`),
    })
    expect(await gpuOf(homeId)).toMatchObject({ displayName: 'NVIDIA L40S (simulated)', hard: 1, used: 0 })
  })
})

const aModel = {
  features: ['TextGeneration' as const],
  owner: 'us',
  url: 'pvc://userdata/m',
  engine: 'LlamaCpp' as const,
  resourceProfile: 'default:1',
  minReplicas: 0,
  maxReplicas: 1,
  targetRequests: 1,
  scaleDownDelaySeconds: 0,
}
