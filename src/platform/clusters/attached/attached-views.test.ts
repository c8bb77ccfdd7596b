import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../foundation/clock.ts'
import { silentLogger } from '../../../foundation/log.ts'
import { type Cluster, clusterSchema } from '../../../resources/cluster.ts'
import type { Node } from '../../../resources/node.ts'
import { HeldObjects } from '../../../resources/object-cache.ts'
import type { Pod } from '../../../resources/pod.ts'
import { AttachedViews } from './attached-views.ts'
import type { RunningCluster } from '../running-cluster.ts'

const spec = { displayName: 'Team', enterprise: 'acme', center: 'local-1' }
const attachedSpec = { ...spec, kubeconfigSecret: { name: 'elsewhere' } }

const cluster = (uid: string, extra: object) =>
  clusterSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Cluster',
    metadata: { name: 'elsewhere', uid },
    spec: attachedSpec,
    ...extra,
  })

class View implements RunningCluster {
  readonly id: string
  readonly by: string
  readonly controlPlane = 'https://192.0.2.1'
  readonly nodes = new HeldObjects<Node>()
  readonly pods = new HeldObjects<Pod>()
  isClosed = false

  constructor(id: string, by: string) {
    this.id = id
    this.by = by
  }

  silence(): undefined {}

  onChange(): () => void {
    return () => {}
  }

  update(): void {}

  async close(): Promise<void> {
    this.isClosed = true
  }
}

function startViews() {
  const stage = {
    clusters: new HeldObjects<Cluster>(),
    views: new Array<View>(),
    kubeconfig: 'the first' as string | undefined,
    now: (): View | undefined => views.running('elsewhere') as View | undefined,
  }
  const views = new AttachedViews({
    clusters: stage.clusters,
    secrets: {
      async read() {
        if (stage.kubeconfig === undefined) throw new Error('there is no Secret')
        return stage.kubeconfig
      },
    },
    async attach(id, kubeconfig) {
      const view = new View(id, kubeconfig)
      stage.views.push(view)
      return view
    },
    lookAgainMs: 5,
    clock: systemClock,
    log: silentLogger,
  })
  views.start()
  onTestFinished(() => views.stop())
  return stage
}

describe('AttachedViews', () => {
  it('watches an attached cluster when its ID is known, and by the kubeconfig that it has now', async () => {
    const stage = startViews()
    stage.clusters.put(cluster('1', {}))
    stage.clusters.put(cluster('1', { status: { id: 'vks1' } }))
    await expect.poll(stage.now).toMatchObject({ id: 'vks1', by: 'the first' })
    stage.kubeconfig = 'the second'
    await expect.poll(stage.now).toMatchObject({ id: 'vks1', by: 'the second' })
    expect(stage.views.map(({ isClosed }) => isClosed)).toEqual([true, false])
  })

  it('watches it no more without a kubeconfig, and again with one', async () => {
    const stage = startViews()
    stage.clusters.put(cluster('1', { status: { id: 'vks1' } }))
    await expect.poll(stage.now).toBeDefined()
    stage.kubeconfig = undefined
    await expect.poll(stage.now).toBeUndefined()
    expect(stage.views[0]?.isClosed).toBe(true)
    stage.kubeconfig = 'the second'
    await expect.poll(stage.now).toMatchObject({ by: 'the second' })
  })

  it('takes one that was made anew for another one', async () => {
    const stage = startViews()
    stage.clusters.put(cluster('1', { status: { id: 'vks1' } }))
    await expect.poll(stage.now).toMatchObject({ id: 'vks1' })
    stage.clusters.put(cluster('2', { status: { id: 'vks2' } }))
    await expect.poll(stage.now).toMatchObject({ id: 'vks2' })
    expect(stage.views[0]?.isClosed).toBe(true)
    stage.clusters.remove({ name: 'elsewhere' })
    await expect.poll(stage.now).toBeUndefined()
    expect(stage.views.every(({ isClosed }) => isClosed)).toBe(true)
  })

  it('does not look at clusters that are not attached', async () => {
    const stage = startViews()
    stage.clusters.put(cluster('1', { spec, status: { id: 'vks1' } }))
    stage.clusters.put({ ...cluster('2', { status: { id: 'vks2' } }), metadata: { name: 'other', uid: '2' } })
    await expect.poll(() => stage.views.map(({ id }) => id)).toEqual(['vks2'])
    expect(stage.now()).toBeUndefined()
  })
})
