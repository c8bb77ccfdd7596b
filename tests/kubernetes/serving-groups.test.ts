import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connectKubernetesText } from '../../src/cluster/kubernetes-client.ts'
import { type Clock, systemClock } from '../../src/foundation/clock.ts'
import { silentLogger } from '../../src/foundation/log.ts'
import { builtInProfiles } from '../../src/operator/resource-profile.ts'
import { Informers } from '../../src/platform/informers.ts'
import { ClusterCards } from '../../src/platform/models/cluster-cards.ts'
import { operatorRole } from '../../src/platform/roles/operator-role.ts'
import { controllerAccount, gatewayNamespace } from '../../src/resources/model-labels.ts'
import { modelKind } from '../../src/resources/model.ts'
import { nodeKind } from '../../src/resources/node.ts'
import { persistentVolumeClaimKind } from '../../src/resources/persistent-volume-claim.ts'
import { persistentVolumeKind } from '../../src/resources/persistent-volume.ts'
import { type Pod, isPodTerminating, podKind } from '../../src/resources/pod.ts'
import { secretKind } from '../../src/resources/secret.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { groupLabel, groupRankLabel, isGated, placingAttemptsAnnotation } from '../../src/resources/serving-group.ts'
import { isStatusError } from '../../src/resources/status-error.ts'
import { until } from '../support/sluice-process.ts'
import type { ContractServer } from './contract-server.ts'
import { type Controllers, soon, startControllers } from './controllers.ts'
import { onEachServer } from './on-each-server.ts'

const card = 'nvidia.com/gpu-h800'
const namespace = gatewayNamespace
const claim = 'groups'
const scheduler = () => join(process.env['KUBEBUILDER_ASSETS'] ?? '', 'kube-scheduler')
const lacksScheduler = (server: ContractServer) => server.isReal && !existsSync(scheduler())

/** The scheduler that a cluster has by default; the embedded server's is one of its controllers. */
async function startScheduler(server: ContractServer): Promise<Controllers> {
  if (!server.isReal) return startControllers(server)
  const flags = [`--kubeconfig=${server.address.kubeconfig}`, '--leader-elect=false', '--secure-port=0']
  const child: ChildProcess = spawn(scheduler(), flags, { stdio: 'ignore' })
  return {
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Time as it is, and later. */
class LaterClock implements Clock {
  aheadMs = 0
  now = () => systemClock.now() + this.aheadMs
  after = systemClock.after.bind(systemClock)
  sleep = systemClock.sleep.bind(systemClock)
}

/** The kubeconfig of the account that may make Pods of Models. */
async function controllerConfig(server: ContractServer): Promise<string> {
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`
  await server.http('POST', accounts, { metadata: { name: controllerAccount } })
  await server.http('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'groups-controller' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace, name: controllerAccount }],
  })
  const answer = await server.ok('POST', `${accounts}/${controllerAccount}/token`, { spec: {} })
  const { token } = answer['status'] as { token: string }
  return readFileSync(server.address.kubeconfig, 'utf8').replaceAll(server.address.token, token)
}

/** The operator of Models, as `sluice controller` has it. */
async function startOperator(server: ContractServer, clock: Clock): Promise<Controllers> {
  const client = await connectKubernetesText(await controllerConfig(server))
  const parts = { client, clock, log: silentLogger }
  const informers = new Informers(parts)
  const caches = {
    models: informers.add(modelKind, { namespace }),
    pods: informers.add(podKind),
    nodes: informers.add(nodeKind),
    secrets: informers.add(secretKind, { namespace }),
  }
  const cards = new ClusterCards({ own: new Map(), nodes: caches.nodes, table: builtInProfiles })
  const operator = operatorRole({
    ...parts,
    caches,
    cards,
    files: { check: () => ({ state: 'unknown' }) },
    registry: () => 'registry.lab-1.localhost',
    busy: () => 0,
  })
  const signal = AbortSignal.timeout(30_000)
  await informers.start(signal)
  await operator.start?.(signal)
  return {
    async stop() {
      await operator.stop?.(AbortSignal.timeout(10_000))
      await informers.stop()
      client.close()
    },
  }
}

onEachServer((server) => {
  describe.skipIf(lacksScheduler(server))('a Model that is larger than a node', () => {
    const clock = new LaterClock()
    let running: readonly Controllers[] = []
    let models = 0

    const ignoreExisting = (error: unknown) => {
      if (!isStatusError(error, 'AlreadyExists')) throw error
    }
    const addNode = async (name: string, cards: number) => {
      const resources = { cpu: '64', memory: '512Gi', pods: '110', [card]: String(cards) }
      const conditions = [{ type: 'Ready', status: 'True' as const }]
      const status = { capacity: resources, allocatable: resources, conditions }
      await server.client.create(nodeKind, { metadata: { name, labels: { 'kubernetes.io/hostname': name } }, status })
      // An API server keeps Pods off a new node until a controller has looked at it.
      await server.client.patch(nodeKind, { name }, { spec: { taints: null } })
    }
    const addModel = async (spec: Record<string, unknown> = {}) => {
      models += 1
      const name = `large-${models}`
      const usual = { url: `pvc://${claim}/large`, engine: 'VLLM', resourceProfile: `${card}:16`, minReplicas: 1 }
      await server.client.create(modelKind, { metadata: { name, namespace }, spec: { ...usual, ...spec } })
      return name
    }
    /** The Pods, without those that nobody is there to end. */
    const pods = async (): Promise<readonly Pod[]> => {
      const { items } = await server.client.list(podKind, { namespace })
      for (const { metadata } of items.filter(isPodTerminating)) {
        await server.client.delete(podKind, { namespace, name: metadata.name }, { graceSeconds: 0 }).catch(() => {})
      }
      return items.filter((pod) => !isPodTerminating(pod))
    }
    const members = async () => (await pods()).filter(({ metadata }) => metadata.labels?.[groupLabel])
    const nodesOf = (list: readonly Pod[]) => list.flatMap(({ spec }) => spec.nodeName ?? []).toSorted()
    const placedOn = async (...nodes: readonly string[]) => {
      await expect.poll(async () => nodesOf(await members()), soon).toEqual(nodes)
    }
    const occupy = (name: string, nodeName: string) => {
      const resources = { limits: { [card]: '8' }, requests: { [card]: '8' } }
      const containers = [{ name: 'main', image: server.image, resources }]
      return server.client.create(podKind, { metadata: { name, namespace }, spec: { nodeName, containers } })
    }
    const remove = (name: string) => server.client.delete(podKind, { namespace, name }, { graceSeconds: 0 })
    const messageOf = async (name: string) =>
      (await server.client.get(modelKind, { namespace, name }))?.status?.message ?? ''

    const served = () => {
      const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
      return { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at }] }
    }
    const setStatus = (pod: string, status: object) =>
      server.patch(`/api/v1/namespaces/${namespace}/pods/${pod}/status`, 'merge', { status })

    const addClaim = async (volume: string, node?: string) => {
      const affinity = {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
          ],
        },
      }
      const spec = {
        capacity: { storage: '1Ti' },
        accessModes: ['ReadOnlyMany'],
        csi: { driver: 'example.com', volumeHandle: volume },
        claimRef: { namespace, name: volume },
        ...(node !== undefined && { nodeAffinity: affinity }),
      }
      const bound = { 'pv.kubernetes.io/bind-completed': 'yes' }
      if (server.isReal) await server.client.create(persistentVolumeKind, { metadata: { name: volume }, spec })
      await server.client.create(persistentVolumeClaimKind, {
        metadata: { name: volume, namespace, annotations: bound },
        spec: {
          accessModes: ['ReadOnlyMany'],
          resources: { requests: { storage: '1Ti' } },
          ...(server.isReal && { volumeName: volume, storageClassName: '' }),
        },
      })
      const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${volume}/status`
      if (server.isReal) await server.patch(path, 'merge', { status: { phase: 'Bound' } })
    }

    beforeAll(async () => {
      await server.http('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
      await server.http('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } })
      await addClaim(claim).catch(ignoreExisting)
      running = [await startScheduler(server), await startOperator(server, clock)]
    })
    afterAll(async () => {
      for (const part of running) await part.stop()
      // Others install the chart here, which brings this account.
      await server.http('DELETE', `/api/v1/namespaces/${namespace}/serviceaccounts/${controllerAccount}`)
      await server.http('DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/groups-controller')
    })
    beforeEach(async () => {
      await addNode('group-a', 8)
      await addNode('group-b', 8)
    })
    afterEach(async () => {
      for (const { metadata } of (await server.client.list(modelKind, { namespace })).items) {
        await server.client.patch(
          modelKind,
          { namespace, name: metadata.name },
          { spec: { minReplicas: 0, replicas: 0 } },
        )
      }
      await until('the groups to be gone', soon.timeout, async () => (await members()).length === 0)
      for (const { metadata } of (await server.client.list(modelKind, { namespace })).items) {
        await server.client.delete(modelKind, { namespace, name: metadata.name })
      }
      for (const { metadata } of await pods()) await remove(metadata.name)
      for (const name of ['group-a', 'group-b']) await server.client.delete(nodeKind, { name })
      clock.aheadMs = 0
    })

    it('is a group that is placed as a whole, and counts as one replica', async () => {
      const name = await addModel()
      await placedOn('group-a', 'group-b')
      const service = await server.client.get(serviceKind, { namespace, name: `model-${name}-group` })
      expect(service?.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true })
      const [leader] = await members()
      expect(leader?.spec).toMatchObject({ subdomain: service?.metadata.name, hostname: leader?.metadata.name })
      for (const { metadata } of await members()) await setStatus(metadata.name, served())
      await expect.poll(() => messageOf(name), soon).toBe('1 of 1 groups ready.')
      const model = await server.client.get(modelKind, { namespace, name })
      expect(model?.status).toMatchObject({ phase: 'Ready', replicas: 1, readyReplicas: 1 })
    })

    it('takes no card while there is room for half of it', async () => {
      await occupy('occupant', 'group-b')
      const name = await addModel()
      await expect.poll(() => messageOf(name), soon).toMatch(/^No node has room yet: 1 of 2 Pods of the group fit/)
      const waiting = await members()
      expect(waiting.map(isGated)).toEqual([true, true])
      expect(nodesOf(waiting)).toEqual([])
      await remove('occupant')
      await placedOn('group-a', 'group-b')
    })

    it('is never two halves of two groups', async () => {
      await Promise.all([addModel(), addModel()])
      await placedOn('group-a', 'group-b')
      await expect
        .poll(
          async () => (await members()).filter(isGated).map(({ metadata }) => metadata.labels?.[groupLabel]).length,
          soon,
        )
        .toBe(2)
      const held = (await members()).filter(({ spec }) => spec.nodeName)
      expect(new Set(held.map(({ metadata }) => metadata.labels?.[groupLabel])).size).toBe(1)
    })

    it('is replaced as a whole when one of its Pods is deleted', async () => {
      await addModel()
      await placedOn('group-a', 'group-b')
      const [, worker] = await members()
      const group = worker?.metadata.labels?.[groupLabel]
      expect(group).toBeDefined()
      await server.client.delete(podKind, { namespace, name: worker?.metadata.name ?? '' })
      await expect
        .poll(async () => (await members()).filter(({ metadata }) => metadata.labels?.[groupLabel] === group), soon)
        .toEqual([])
      await placedOn('group-a', 'group-b')
    })

    it.each([
      ['its leader fails, which served', '0', true],
      ['its leader fails while the group starts', '0', false],
      ['another member fails while the group starts', '1', false],
    ])('ends as a whole when %s, and comes back as a whole', async (_what, rank, isServing) => {
      const name = await addModel()
      await placedOn('group-a', 'group-b')
      const first = await members()
      const group = first[0]?.metadata.labels?.[groupLabel]
      const others = first.filter(({ metadata }) => metadata.labels?.[groupRankLabel] !== rank)
      const failing = first.find((pod) => !others.includes(pod))
      if (isServing) for (const { metadata } of first) await setStatus(metadata.name, served())
      await setStatus(failing?.metadata.name ?? '', { phase: 'Failed' })
      // None of the others goes on with its cards.
      const left = async () => (await members()).map(({ metadata }) => metadata.name)
      await expect.poll(left, soon).toEqual([failing?.metadata.name])
      // The next one is tried a while later.
      clock.aheadMs = 11_000
      await server.client.patch(modelKind, { namespace, name }, { metadata: { labels: { looked: 'again' } } })
      await expect.poll(left, soon).toHaveLength(2)
      await placedOn('group-a', 'group-b')
      expect((await members()).filter(({ metadata }) => metadata.labels?.[groupLabel] === group)).toEqual([])
    })

    it.skipIf(!server.isReal)(
      'gives back what half of it got, when the other half finds no place in time',
      async () => {
        // Only the scheduler knows that what these Pods mount can be reached from one node.
        await addClaim('on-one-node', 'group-a')
        const name = await addModel({ url: 'pvc://on-one-node/large' })
        await placedOn('group-a')
        const group = (await members())[0]?.metadata.labels?.[groupLabel]
        clock.aheadMs = 31_000
        await server.client.patch(modelKind, { namespace, name }, { metadata: { labels: { looked: 'again' } } })
        await expect
          .poll(async () => (await members()).filter(({ metadata }) => metadata.labels?.[groupLabel] === group), soon)
          .toEqual([])
        const attempts = ({ metadata }: Pod) => metadata.annotations?.[placingAttemptsAnnotation]
        await expect
          .poll(async () => (await members()).map((pod) => [isGated(pod), attempts(pod)]), soon)
          .toEqual([
            [true, '1'],
            [true, '1'],
          ])
      },
    )
  })
})
