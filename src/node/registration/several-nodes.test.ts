import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { nodeKind } from '../../resources/node.ts'
import { podKind } from '../../resources/pod.ts'
import { AgentStage, card, isRunning, pidOf } from '../agent-stage.fixture.ts'
import { declaredCards } from '../cards/gpu-inventory.ts'
import type { NodeAgentOptions } from '../node-agent.ts'

const two = { furtherNames: ['here-2'], cards: declaredCards(`${card}=2`, 2), cpus: 3, memoryBytes: 8 * 1024 ** 3 }

let stage: AgentStage
/** Count from the next start on. */
let options: Partial<NodeAgentOptions>

async function begin(): Promise<void> {
  options = { ...two }
  stage = new AgentStage('paths', () => options)
  await stage.prepare()
}

afterEach(() => stage.close())

const nodes = async () => (await stage.client.list(nodeKind)).items
/** Runs a Pod that writes down which cards it got. */
const run = (name: string, nodeName: string, cards: number) => {
  const limits = cards === 0 ? {} : { resources: { limits: { [card]: String(cards) } } }
  const script = `echo $CUDA_VISIBLE_DEVICES > ${cardsFile(name)}; while :; do sleep 1000 & wait $!; done`
  return stage.create(name, script, limits, { nodeName })
}
const cardsFile = (name: string) => join(stage.dataDir, `${name}.cards`)
/** Waits until it has begun. */
const cardsOf = async (name: string) => {
  await stage.until(name, isRunning)
  await expect.poll(() => existsSync(cardsFile(name)) && readFileSync(cardsFile(name), 'utf8')).toMatch(/\d\n/)
  return readFileSync(cardsFile(name), 'utf8').trim().split(',')
}

it('is several Nodes, each with its own cards and an equal part of the rest', async () => {
  await begin()
  const seen = (await nodes()).map(({ metadata, status }) => [
    metadata.name,
    status?.allocatable?.[card],
    status?.capacity?.['cpu'],
  ])
  expect(seen).toEqual([
    ['here', '2', '1.5'],
    ['here-2', '2', '1.5'],
  ])
  const memory = (await nodes()).map(({ status }) => status?.capacity?.['memory'])
  expect(memory).toEqual(['4194304Ki', '4194304Ki'])
})

it('runs the Pods of each Node, and gives no card twice, nor more than a Node has', async () => {
  await begin()
  await run('first', 'here', 2)
  await run('second', 'here-2', 2)
  expect(new Set([...(await cardsOf('first')), ...(await cardsOf('second'))]).size).toBe(4)
  await stage.delete('second', 0)
  await stage.untilGone('second')
  // There are free cards on the machine, but they are not this Node's.
  await run('third', 'here', 1)
  const waiting = await stage.until(
    'third',
    ({ status }) => status?.containerStatuses?.[0]?.state?.waiting !== undefined,
  )
  expect(waiting.status?.containerStatuses?.[0]?.state?.waiting?.message).toMatch(/waiting for 1/)
})

it('takes over what runs on each Node after it was killed', async () => {
  await begin()
  await run('first', 'here', 1)
  await run('second', 'here-2', 2)
  const before = [pidOf(await stage.until('first', isRunning)), pidOf(await stage.until('second', isRunning))]
  stage.lose()
  await stage.start()
  const after = [pidOf(await stage.until('first', isRunning)), pidOf(await stage.until('second', isRunning))]
  expect(after).toEqual(before)
  expect(stage.agent.heldCards).toBe(3)
  await run('third', 'here', 1)
  const held = await Promise.all(['first', 'second', 'third'].map(cardsOf))
  expect(new Set(held.flat()).size).toBe(4)
})

it('is fewer Nodes from the next start on, without what ran on the others', async () => {
  await begin()
  await run('first', 'here', 0)
  await run('second', 'here-2', 0)
  await stage.until('first', isRunning)
  await stage.until('second', isRunning)
  await stage.stop()
  options = { cards: declaredCards(`${card}=2`) }
  await stage.start()
  expect((await nodes()).map(({ metadata }) => metadata.name)).toEqual(['here'])
  expect(await stage.client.get(podKind, { namespace: 'default', name: 'second' })).toBeUndefined()
  await stage.until('first', isRunning)
})
