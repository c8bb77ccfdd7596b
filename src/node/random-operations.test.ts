import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Pod, podKind } from '../resources/pod.ts'
import { AgentStage, card, isRunning, pidOf, statusOf } from './agent-stage.fixture.ts'
import { isolationModes } from './isolation/permitted-modes.fixture.ts'
import { environmentEntry, processesMarked, sendSignal } from './processes/process-identity.ts'

let stage: AgentStage
afterEach(() => stage.close())

const cardCount = 4
const mostPods = 10
/** A thousand operations in all, half of them in each isolation mode if the machine permits both. */
const operations = 1000 / isolationModes.filter(({ permitted }) => permitted).length

/** A small seeded generator: the same seed makes the same decisions. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

interface Wanted {
  readonly cards: number
  readonly restarts: boolean
  killed: boolean
}

/** Does random things to a node, and knows what should come of them. */
class Chaos {
  readonly wanted = new Map<string, Wanted>()
  readonly #random: () => number
  #made = 0

  constructor(seed: number) {
    this.#random = randomFrom(seed)
  }

  async step(): Promise<void> {
    const dice = this.#random()
    if (dice < 0.4) return this.#create()
    if (dice < 0.65) return this.#delete()
    if (dice < 0.8) return this.#kill()
    if (dice < 0.83) return this.#settle()
    if (dice < 0.985) return this.#scale(Math.floor(this.#random() * mostPods))
    if (dice < 0.9925) {
      stage.lose()
      return stage.start()
    }
    await stage.stop()
    return stage.start()
  }

  async #create(): Promise<void> {
    if (this.wanted.size >= mostPods) return this.#delete()
    this.#made += 1
    const name = `pod-${this.#made}`
    const inUse = [...this.wanted.values()].reduce((sum, { cards }) => sum + cards, 0)
    const cards = Math.min(cardCount - inUse, Math.floor(this.#random() * 3))
    const restarts = this.#random() < 0.7
    const resources = cards > 0 ? { resources: { limits: { [card]: String(cards) } } } : {}
    const spec = { restartPolicy: restarts ? 'Always' : 'Never', terminationGracePeriodSeconds: 1 }
    // Some end on SIGTERM, others only on SIGKILL, leaving a child in another session behind.
    const script = this.#random() < 0.8 ? 'exec sleep 1000' : "trap '' TERM; setsid sleep 1000 & wait"
    await stage.create(name, script, resources, spec)
    this.wanted.set(name, { cards, restarts, killed: false })
  }

  async #delete(): Promise<void> {
    const name = this.#pick()
    if (name === undefined) return
    this.wanted.delete(name)
    const grace = this.#random()
    await stage.delete(name, grace < 0.3 ? 0 : grace < 0.6 ? 1 : undefined)
  }

  async #scale(size: number): Promise<void> {
    while (this.wanted.size > size) await this.#delete()
    while (this.wanted.size < Math.min(size, this.wanted.size + 3)) await this.#create()
  }

  async #kill(): Promise<void> {
    const name = this.#pick()
    const wanted = name === undefined ? undefined : this.wanted.get(name)
    if (name === undefined || !wanted || wanted.killed) return
    const pod = await stage.pod(name)
    const pid = pidOf(pod)
    if (!statusOf(pod)?.state?.running || !sendSignal(pid, 'SIGKILL')) return
    wanted.killed = true
  }

  /** Waits for a Pod to come up, so that not only starting Pods are hit. */
  async #settle(): Promise<void> {
    const name = this.#pick()
    const wanted = name === undefined ? undefined : this.wanted.get(name)
    // A Pod with cards may have to wait for another one's grace period.
    if (name === undefined || !wanted || wanted.killed || wanted.cards > 0) return
    await stage.until(name, (pod) => statusOf(pod)?.state?.running !== undefined || pod.status?.phase === 'Failed')
  }

  #pick(): string | undefined {
    const names = [...this.wanted.keys()]
    return names[Math.floor(this.#random() * names.length)]
  }
}

/** Cards that are in use by processes of two Pods at the same time. */
function cardsGivenTwice(): string[] {
  const holders = new Map<string, Set<string>>()
  for (const { pid } of processesMarked(stage.nodeMark)) {
    const pod = environmentEntry(pid, 'SLUICE_POD_UID') ?? ''
    for (const index of environmentEntry(pid, 'CUDA_VISIBLE_DEVICES')?.split(',') ?? []) {
      if (index !== '') holders.set(index, (holders.get(index) ?? new Set()).add(pod))
    }
  }
  return [...holders].filter(([, pods]) => pods.size > 1).map(([index, pods]) => `${index}: ${[...pods].join(' ')}`)
}

/** Everything that is not (yet) as it should be, in words. */
async function differences(chaos: Chaos): Promise<string[]> {
  const { items } = await stage.client.list(podKind, { namespace: 'default' })
  const pods = new Map<string, Pod>(items.map((pod) => [pod.metadata.name, pod]))
  const found: string[] = []
  for (const name of pods.keys()) if (!chaos.wanted.has(name)) found.push(`${name} is still there`)
  const alive = new Set<string>()
  for (const [name, { restarts, killed }] of chaos.wanted) {
    const pod = pods.get(name)
    if (!pod) {
      found.push(`${name} is gone`)
      continue
    }
    const ended = !restarts && killed
    if (ended ? pod.status?.phase !== 'Failed' : !isRunning(pod) || !statusOf(pod)?.state?.running) {
      found.push(`${name} is ${JSON.stringify(pod.status)}`)
    }
    if (!ended) alive.add(pod.metadata.uid ?? '')
  }
  const processes = new Set(
    processesMarked(stage.nodeMark).map(({ pid }) => environmentEntry(pid, 'SLUICE_POD_UID') ?? ''),
  )
  for (const uid of processes) if (!alive.has(uid)) found.push(`processes of ${uid} are left`)
  for (const uid of alive) if (!processes.has(uid)) found.push(`${uid} has no process`)
  return found
}

for (const { mode, permitted, name } of isolationModes) {
  describe.skipIf(!permitted)(`random operations ${name}`, () => {
    it('end in what was asked for, with nothing left and no card given twice', { timeout: 180_000 }, async () => {
      stage = await new AgentStage(mode).prepare()
      const chaos = new Chaos(mode === 'paths' ? 20_261 : 77_003)
      const twice: string[] = []
      for (let count = 0; count < operations; count += 1) {
        await chaos.step()
        if (count % 20 === 0) twice.push(...cardsGivenTwice())
      }
      await expect.poll(() => differences(chaos), { timeout: 20_000, interval: 100 }).toEqual([])
      expect([...twice, ...cardsGivenTwice()]).toEqual([])
      const held = [...chaos.wanted.values()].filter(({ restarts, killed }) => restarts || !killed)
      expect(stage.agent.heldCards).toBe(held.reduce((sum, { cards }) => sum + cards, 0))
      const { items } = await stage.client.list(podKind, { namespace: 'default' })
      const running = items.filter(isRunning)
      expect(new Set(running.map(({ status }) => status?.podIP)).size).toBe(running.length)
      const folders = () => readdirSync(join(stage.dataDir, 'node', 'scratch')).length
      await expect.poll(folders).toBeLessThanOrEqual(items.length)
    })
  })
}
