import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { modelKind } from '../../src/resources/model.ts'
import { nodeKind } from '../../src/resources/node.ts'
import { type Pod, isPodReady, isPodTerminating, podKind } from '../../src/resources/pod.ts'
import { groupLabel, groupRankLabel } from '../../src/resources/serving-group.ts'
import { useMeetingEngine } from '../support/meeting-engine.ts'
import { ModelStage, namespace, pidOf } from '../support/model-stage.ts'
import { until } from '../support/sluice-process.ts'

const card = 'nvidia.com/gpu-h800'
const small = { requests: { cpu: '10m', memory: '16Mi' } }

/** One machine that is two nodes, each with as many cards as a machine for models of this size has. */
const stage = new ModelStage(['--gpus', `${card}=8`, '--nodes', '2', '--idle-window', '1'])

const url = 'pvc://userdata/models/large'
const create = (name: string, spec: Record<string, unknown> = {}) =>
  stage.create(name, { url, engine: 'VLLM', resourceProfile: `${card}:16`, ...spec })
const ready = (name: string) => stage.untilModel(name, ({ status }) => status?.phase === 'Ready')
const groupsOf = (pods: readonly Pod[]) => Map.groupBy(pods, ({ metadata }) => metadata.labels?.[groupLabel])
const rankOf = ({ metadata }: Pod) => Number(metadata.labels?.[groupRankLabel])

interface Met {
  readonly members: ReadonlyArray<{
    readonly rank: number
    readonly size: number
    readonly leader: string
    readonly cards: string
    readonly args: readonly string[]
  }>
}

const meet = async (name: string): Promise<Met> => {
  const answer = await stage.chat(name)
  expect(answer.status).toBe(200)
  return answer.json() as Promise<Met>
}

/** Every group gets nodes for all of its members, or for none: looks at all changes while `watched` runs. */
async function neverHalf(watched: () => Promise<void>): Promise<void> {
  const held = new Map<string, Set<string>>()
  const seenLeaders = new Map<string, Set<string>>()
  const stop = new AbortController()
  const { resourceVersion } = await stage.client.list(podKind, { namespace })
  const watching = (async () => {
    for await (const event of stage.client.watch(podKind, { namespace, resourceVersion }, stop.signal)) {
      if (event.type === 'BOOKMARK') continue
      const { metadata, spec } = event.object
      const group = metadata.labels?.[groupLabel]
      if (group === undefined) continue
      if (rankOf(event.object) === 0) {
        seenLeaders.set(group, (seenLeaders.get(group) ?? new Set()).add(metadata.uid ?? ''))
      }
      if (spec.nodeName) held.set(group, (held.get(group) ?? new Set()).add(metadata.name))
    }
  })().catch(() => {})
  await watched()
  stop.abort()
  await watching
  for (const leaders of seenLeaders.values()) expect(leaders.size).toBe(1)
  for (const members of held.values()) expect(members.size).toBe(2)
}

/** Members look each other up, which needs networks of their own; those of an ordinary user have tests of their own. */
const hasNetworks = process.getuid?.() === 0

describe.skipIf(!hasNetworks)('Models that are larger than a node', () => {
  beforeAll(async () => {
    useMeetingEngine(stage, { [card]: small })
    await stage.start()
  })
  afterAll(() => stage.destroy())
  afterEach(async () => {
    const { items } = await stage.client.list(modelKind, { namespace })
    for (const { metadata } of items) await stage.client.delete(modelKind, { namespace, name: metadata.name })
    await until('nothing to be left', 30_000, async () => {
      return (await stage.pods()).length === 0 && stage.processes().size === 0
    })
  })

  it('are on a machine that is several nodes, each with its own cards', async () => {
    const { items } = await stage.client.list(nodeKind)
    expect(items.map(({ status }) => status?.allocatable?.[card])).toEqual(['8', '8'])
    expect(new Set(items.map(({ metadata }) => metadata.name)).size).toBe(2)
  })

  it('serve as a group whose members have met, spread over the nodes', async () => {
    await neverHalf(async () => {
      await create('large')
      await ready('large')
    })
    const pods = (await stage.pods()).toSorted((one, other) => rankOf(one) - rankOf(other))
    expect(pods).toHaveLength(2)
    expect(new Set(pods.map(({ spec }) => spec.nodeName)).size).toBe(2)
    const { members } = await meet('large')
    expect(members.map(({ rank, size }) => ({ rank, size }))).toEqual([
      { rank: 0, size: 2 },
      { rank: 1, size: 2 },
    ])
    const cards = members.flatMap(({ cards: list }) => list.split(','))
    expect(new Set(cards).size).toBe(16)
    const size = (args: readonly string[]) => args[args.indexOf('--tensor-parallel-size') + 1]
    expect(members.map(({ args }) => size(args))).toEqual(['16', '16'])
    expect(await stage.model('large')).toMatchObject({
      status: { replicas: 1, readyReplicas: 1, message: '1 of 1 groups ready.' },
    })
  })

  it('end as a whole when one member dies, and come back as a whole', async () => {
    await create('large')
    await ready('large')
    const before = await stage.pods()
    const [group] = groupsOf(before).keys()
    const worker = before.find((pod) => rankOf(pod) === 1)
    expect(worker).toBeDefined()
    await neverHalf(async () => {
      process.kill(worker ? pidOf(worker) : 0, 'SIGKILL')
      await stage.untilPod(({ metadata }) => metadata.labels?.[groupLabel] !== group)
      await ready('large')
    })
    const after = await stage.pods()
    expect([...groupsOf(after).keys()]).not.toContain(group)
    expect(after.filter(isPodReady)).toHaveLength(2)
    await meet('large')
  })

  it('are not placed at all while there is room for a part of them only', async () => {
    await create('small', { resourceProfile: `${card}:8` })
    await ready('small')
    await create('large')
    const waiting = await stage.untilModel('large', ({ status }) => /room/.test(status?.message ?? ''))
    expect(waiting.status).toMatchObject({
      phase: 'Waking',
      replicas: 1,
      message: expect.stringMatching(/^No node has room yet: 1 of 2 Pods of the group fit/),
    })
    const held = (await stage.pods()).filter(({ metadata }) => metadata.labels?.[groupLabel])
    expect(held.map(({ spec }) => spec.nodeName)).toEqual([undefined, undefined])
    await stage.client.delete(modelKind, { namespace, name: 'small' })
    await ready('large')
  })

  it('are woken by a request, and all of them go to sleep', async () => {
    await create('sleepy', { minReplicas: 0, scaleDownDelaySeconds: 1 })
    await stage.untilModel('sleepy', ({ status }) => status?.phase === 'Asleep')
    await meet('sleepy')
    await stage.untilModel('sleepy', ({ status }) => status?.phase === 'Asleep')
    await until('both Pods to be gone', 30_000, async () => (await stage.pods()).length === 0)
    expect((await meet('sleepy')).members).toHaveLength(2)
  })

  it('are replaced as a whole when the Model changes', async () => {
    await create('large')
    await ready('large')
    const [group] = groupsOf(await stage.pods()).keys()
    await neverHalf(async () => {
      const spec = { args: ['--max-model-len', '4096'] }
      await stage.client.patch(modelKind, { namespace, name: 'large' }, { spec })
      await until('the new group', 60_000, async () => {
        const pods = await stage.pods()
        return !groupsOf(pods).has(group) && pods.length === 2 && pods.every(isPodReady)
      })
    })
    const { members } = await meet('large')
    expect(members.every(({ args }) => args.includes('4096'))).toBe(true)
  })

  it('say why they fail, and hold no card meanwhile', async () => {
    await create('broken', { args: ['--rank-that-fails', '1'] })
    const { status } = await stage.untilModel('broken', ({ status: now }) => /failed/.test(now?.message ?? ''))
    expect(status?.message).toMatch(/exit code 3/)
    await until('the leader to end', 30_000, async () => {
      const live = (await stage.pods()).filter(({ status: pod }) => pod?.phase !== 'Failed')
      return live.length === 0 && stage.processes().size === 0
    })
    const left = (await stage.pods()).filter((pod) => !isPodTerminating(pod))
    expect(left.map(({ status: pod }) => pod?.phase)).toEqual(['Failed'])
  })

  it('name the number of cards that could be shared', async () => {
    await create('odd', { resourceProfile: `${card}:9` })
    const { status } = await stage.untilModel('odd', ({ status: now }) => now?.phase === 'Failed')
    expect(status?.message).toBe(
      `No node has 9 ${card}; the largest has 8, and 9 cards cannot be shared equally among the 2 Pods that would take. Ask for 8 or 10.`,
    )
  })
})
