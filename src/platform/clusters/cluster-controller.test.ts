import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { Informer } from '../../cluster/informer.ts'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { type Cluster, type ClusterStatus, clusterKind } from '../../resources/cluster.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { type Node, nodeSchema } from '../../resources/node.ts'
import { HeldObjects } from '../../resources/object-cache.ts'
import type { Pod } from '../../resources/pod.ts'
import { secretKind } from '../../resources/secret.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { DataFolder } from '../data/data-directory.ts'
import { ClusterController } from './cluster-controller.ts'
import { ClusterFault } from './cluster-fault.ts'
import { ClusterFolders } from './cluster-folders.ts'
import { ClusterSecrets } from './cluster-secrets.ts'
import type { RunningCluster } from './running-cluster.ts'

const homeId = 'vkshome'
const spec = { displayName: 'Team', enterprise: 'acme', center: 'local-1', deletionPolicy: 'Retain' as const }

const kubeconfigFor = (host: string) =>
  Buffer.from(
    JSON.stringify({
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: `https://${host}:6443` } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    }),
  ).toString('base64')

/** A cluster that, as far as the controller can tell, runs. */
class PretendedCluster implements RunningCluster {
  readonly id: string
  readonly controlPlane = 'https://192.0.2.1'
  readonly kubeconfig = 'a kubeconfig'
  readonly nodes = new HeldObjects<Node>()
  readonly pods = new HeldObjects<Pod>()
  readonly #listeners = new Set<() => void>()
  closing = Promise.withResolvers<void>()
  isClosed = false
  why: string | undefined

  constructor(id: string, isReady = true) {
    this.id = id
    this.node(isReady)
    this.closing.resolve()
  }

  node(isReady: boolean): void {
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }]
    this.nodes.put(
      nodeSchema.parse({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status: { conditions } }),
    )
    this.tell()
  }

  tell(): void {
    for (const listener of this.#listeners) listener()
  }

  silence(): string | undefined {
    return this.why
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  update(): void {}

  async close(): Promise<void> {
    await this.closing.promise
    this.isClosed = true
  }
}

async function startController({ embeds = true } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'sluice-controller-'))
  const store = new MemoryStore({ historyLimit: 1_000 })
  const kinds = [...coreKinds, ...customKinds]
  const client = new EmbeddedClient(new ClusterApi({ store, kinds, clock: systemClock }))
  await client.create(namespaceKind, { metadata: { name: 'sluice' } })
  const common = { client, clock: systemClock, log: silentLogger }
  const clusters = new Informer({ ...common, kind: clusterKind })
  const stop = new AbortController()
  const informing = clusters.run(stop.signal)
  await clusters.whenSynced()
  const started: PretendedCluster[] = []
  const told: string[] = []
  const folders = new ClusterFolders(new DataFolder(root))
  const stage = {
    client,
    folders,
    started,
    told,
    home: new PretendedCluster(homeId),
    /** Called at each start of a cluster; may wait, or throw. */
    start: async (): Promise<void> => {},
    when,
  }
  const start = async ({ id }: { readonly id: string }) => {
    await stage.start()
    const running = new PretendedCluster(id)
    started.push(running)
    return running
  }
  const controller = new ClusterController({
    ...common,
    clusters,
    embedded: embeds ? { folders, start } : undefined,
    secrets: new ClusterSecrets(client),
    events: { record: (about, _type, reason) => void told.push(`${about.metadata.name} ${reason}`) },
    home: stage.home,
    async attach(id) {
      const running = new PretendedCluster(id)
      started.push(running)
      return running
    },
    lookAgainMs: 10,
  })
  controller.start()
  onTestFinished(async () => {
    await controller.stop()
    stop.abort()
    await informing
    await store.close()
    rmSync(root, { recursive: true })
  })
  return stage

  /** Resolves with the Cluster when its status is as wanted; with `undefined` when it is gone. */
  function when(name: string, phase: ClusterStatus | 'gone', reason?: string): Promise<Cluster | undefined> {
    return new Promise((resolve) => {
      const look = () => {
        const found = clusters.get({ name })
        const said = found?.status?.conditions?.find(({ type }) => type === 'Ready')?.reason
        if (phase === 'gone' ? found : found?.status?.phase !== phase || (reason ?? said) !== said) return
        forget()
        resolve(found)
      }
      const forget = clusters.onChange(look)
      look()
    })
  }
}

describe('ClusterController', () => {
  it('leads a Cluster through every state, and says each by an Event', async () => {
    const stage = await startController()
    const gate = Promise.withResolvers<void>()
    stage.start = () => gate.promise
    await stage.client.create(clusterKind, { metadata: { name: 'team' }, spec })
    const creating = await stage.when('team', 'Creating')
    expect(creating?.status?.id).toMatch(/^vks/)
    gate.resolve()
    const running = await stage.when('team', 'Running')
    expect(running?.status).toMatchObject({ id: creating?.status?.id, controlPlane: 'https://192.0.2.1' })
    const ref = running?.status?.kubeconfigSecret ?? { namespace: '', name: '' }
    const secret = await stage.client.get(secretKind, ref)
    expect(Buffer.from(secret?.data?.['kubeconfig'] ?? '', 'base64').toString()).toBe('a kubeconfig')

    const [team] = stage.started
    if (!team) throw new Error('it was not started')
    team.node(false)
    await stage.when('team', 'Abnormal', 'NoNodeReady')
    team.node(true)
    await stage.when('team', 'Running')
    team.why = 'no write is taken'
    team.tell()
    await stage.when('team', 'Abnormal', 'ApiNotAnswering')
    team.why = undefined
    team.tell()
    await stage.when('team', 'Running')

    team.closing = Promise.withResolvers()
    await stage.client.delete(clusterKind, { name: 'team' })
    await stage.when('team', 'Deleting')
    expect(team.isClosed).toBe(false)
    team.closing.resolve()
    await stage.when('team', 'gone')
    expect(team.isClosed).toBe(true)
    expect(await stage.client.get(secretKind, ref)).toBeUndefined()
    expect(stage.told).toEqual([
      'team Starting',
      'team Running',
      'team NoNodeReady',
      'team Running',
      'team ApiNotAnswering',
      'team Running',
      'team Deleting',
    ])
  })

  it('keeps the data of one that was deleted for the next of its name, unless they are to go', async () => {
    const stage = await startController()
    await stage.client.create(clusterKind, { metadata: { name: 'team' }, spec })
    const first = await stage.when('team', 'Running')
    await stage.client.delete(clusterKind, { name: 'team' })
    await stage.when('team', 'gone')
    await stage.client.create(clusterKind, { metadata: { name: 'team' }, spec: { ...spec, deletionPolicy: 'Delete' } })
    const second = await stage.when('team', 'Running')
    expect(second?.status?.id).toBe(first?.status?.id)
    await stage.client.delete(clusterKind, { name: 'team' })
    await stage.when('team', 'gone')
    expect(stage.folders.find('team', 'acme')).toBeUndefined()
  })

  it('says why one could not be started, and tries again', async () => {
    const stage = await startController()
    stage.start = () => Promise.reject(new ClusterFault('CenterNotFound', 'there is no compute center nowhere-1'))
    await stage.client.create(clusterKind, { metadata: { name: 'team' }, spec })
    const abnormal = await stage.when('team', 'Abnormal', 'CenterNotFound')
    expect(abnormal?.status?.conditions?.[0]?.message).toBe('there is no compute center nowhere-1')
    stage.start = async () => {}
    await stage.when('team', 'Running')
    // It is still the same cluster.
    expect(stage.started.map(({ id }) => id)).toEqual([abnormal?.status?.id])
  })

  it('ends what a killed run left before one is gone that was to be deleted then', async () => {
    const stage = await startController()
    stage.folders.make('team', 'acme')
    const metadata = { name: 'team', finalizers: ['sluice.dev/cluster', 'test/hold'] }
    stage.start = () => Promise.reject(new Error('not yet'))
    await stage.client.create(clusterKind, { metadata, spec })
    await stage.when('team', 'Abnormal', 'StartFailed')
    stage.start = async () => {}
    await stage.client.delete(clusterKind, { name: 'team' })
    await stage.when('team', 'Deleting')
    const left = async () => (await stage.client.get(clusterKind, { name: 'team' }))?.metadata.finalizers
    await expect.poll(left).toEqual(['test/hold'])
    expect(stage.started.at(-1)?.isClosed).toBe(true)
    await stage.client.patch(clusterKind, { name: 'team' }, { metadata: { finalizers: null } })
    await stage.when('team', 'gone')
  })

  it("does not take somebody else's Secret for its kubeconfig", async () => {
    const stage = await startController()
    const ref = { namespace: 'sluice', name: 'team-kubeconfig' }
    await stage.client.create(secretKind, { metadata: ref, data: { kubeconfig: 'bWluZQ==' } })
    await stage.client.create(clusterKind, { metadata: { name: 'team' }, spec })
    await stage.when('team', 'Abnormal', 'KubeconfigSecretTaken')
    expect((await stage.client.get(secretKind, ref))?.data).toEqual({ kubeconfig: 'bWluZQ==' })
  })

  it('looks at an attached one under one ID, also with another kubeconfig, and does not keep it from being deleted', async () => {
    const stage = await startController({ embeds: false })
    const secret = { namespace: 'sluice', name: 'elsewhere' }
    await stage.client.create(secretKind, { metadata: secret, data: { kubeconfig: kubeconfigFor('192.0.2.7') } })
    const attached = { ...spec, kubeconfigSecret: { ...secret, key: 'kubeconfig' } }
    await stage.client.create(clusterKind, { metadata: { name: 'elsewhere' }, spec: attached })
    const running = await stage.when('elsewhere', 'Running')
    expect(running?.status?.id).toMatch(/^vks/)
    expect(running?.metadata.finalizers).toBeUndefined()

    await stage.client.patch(secretKind, secret, { data: { kubeconfig: kubeconfigFor('192.0.2.8') } })
    await expect.poll(() => stage.started).toHaveLength(2)
    const [first, second] = stage.started
    expect(first?.isClosed).toBe(true)
    expect(second?.id).toBe(running?.status?.id)

    await stage.client.delete(secretKind, secret)
    await stage.when('elsewhere', 'Abnormal', 'KubeconfigMissing')
    await stage.client.delete(clusterKind, { name: 'elsewhere' })
    await stage.when('elsewhere', 'gone')
    await expect.poll(() => second?.isClosed).toBe(true)
  })

  it('says of one that cannot be embedded what can be done instead', async () => {
    const stage = await startController({ embeds: false })
    await stage.client.create(clusterKind, { metadata: { name: 'team' }, spec })
    const abnormal = await stage.when('team', 'Abnormal', 'CannotBeEmbedded')
    expect(abnormal?.status?.conditions?.[0]?.message).toContain('spec.kubeconfigSecret')
    await stage.client.delete(clusterKind, { name: 'team' })
    await stage.when('team', 'gone')
  })

  it('tells of the home cluster, too', async () => {
    const stage = await startController()
    await stage.client.create(clusterKind, { metadata: { name: homeId }, spec })
    const home = await stage.when(homeId, 'Running')
    expect(home?.metadata.finalizers).toBeUndefined()
    stage.home.node(false)
    await stage.when(homeId, 'Abnormal', 'NoNodeReady')
  })
})
