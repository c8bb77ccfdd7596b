import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { engineKeyId, engineKeyIn, engineKeysName } from '../../src/resources/engine-keys.ts'
import { modelKind } from '../../src/resources/model.ts'
import { type Pod, isPodReady, podKind } from '../../src/resources/pod.ts'
import { secretKind } from '../../src/resources/secret.ts'
import { ModelStage, namespace, pidOf } from '../support/model-stage.ts'
import { until } from '../support/sluice-process.ts'

const name = 'tiny'
// There is only one card: if it leaks, or an address does, the next Pod cannot start.
const stage = new ModelStage(['--gpus', 'nvidia.com/gpu-l40s=1'])

const isStarted = (pod: Pod) => pod.status?.containerStatuses?.[0]?.state?.running !== undefined

/** The moments in the life of a Model, each with how to reach it. */
const moments = {
  'when it was just accepted': async () => {
    await stage.create(name)
    return undefined
  },
  'when its Pod has a node': async () => {
    await stage.create(name)
    return stage.untilPod(({ spec }) => spec.nodeName !== undefined)
  },
  'while it is loading': async () => {
    await stage.create(name)
    return stage.untilPod((pod) => isStarted(pod) && !isPodReady(pod))
  },
  'when it is ready': async () => {
    await stage.create(name)
    return stage.untilPod(isPodReady)
  },
  'while its Pod is stopping': async () => {
    await stage.create(name)
    const pod = await stage.untilPod(isPodReady)
    await occupy(pod)
    await stage.client.delete(podKind, { namespace, name: pod.metadata.name })
    return stage.untilPod(({ metadata }) => metadata.deletionTimestamp !== undefined)
  },
}

const leaving = new AbortController()

/**
 * Asks the engine directly, past the gateway, for an answer that takes longer than the test: the engine stops only when
 * it is done.
 */
async function occupy(pod: Pod): Promise<void> {
  const body = { model: name, messages: [{ role: 'user', content: 'Hi' }], ignore_eos: true, stream: true }
  const response = await fetch(`http://${pod.status?.podIP}:8900/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${await engineKeyOf(pod)}` },
    body: JSON.stringify(body),
    signal: leaving.signal,
  })
  await response.body?.getReader().read()
}

async function engineKeyOf(pod: Pod): Promise<string | undefined> {
  const secret = await stage.client.get(secretKind, { namespace, name: engineKeysName(name) })
  return engineKeyIn(secret, engineKeyId(pod) ?? '')
}

/** Checks that the Model serves with exactly one Pod, that nothing else runs, and that this Pod has the only card. */
async function serves(): Promise<Pod> {
  await stage.untilModel(name, ({ status }) => status?.phase === 'Ready')
  let pods: readonly Pod[] = []
  await until('one ready Pod and its processes alone', 60_000, async () => {
    pods = await stage.pods()
    const [uid = '', ...others] = stage.processes().keys()
    return pods.length === 1 && pods.every(isPodReady) && others.length === 0 && uid === pods[0]?.metadata.uid
  })
  const answer = await stage.chat(name)
  expect([answer.status, await answer.json()]).toMatchObject([200, { usage: { completion_tokens: 2 } }])
  const [pod] = pods
  if (!pod) throw new Error('no Pod')
  return pod
}

async function restart(): Promise<void> {
  await stage.sluice.killHard()
  await stage.start()
}

describe('a Model', () => {
  beforeAll(async () => {
    await stage.start()
    await stage.addFile('models/tiny')
  })
  afterAll(async () => {
    leaving.abort()
    await stage.destroy()
  })
  afterEach(async () => {
    await stage.client.delete(modelKind, { namespace, name })
    await until('nothing to be left', 60_000, async () => {
      return (await stage.pods()).length === 0 && stage.processes().size === 0
    })
  })

  // What was started continues: a model that is loaded, or partly loaded, is not loaded again.
  it.each([
    ['when it was just accepted', ['nothing']],
    ['when its Pod has a node', ['Pod', 'Pod and process']],
    ['while it is loading', ['Pod and process']],
    ['when it is ready', ['Pod and process']],
    ['while its Pod is stopping', ['nothing']],
  ] as const)('serves after sluice was killed %s, and keeps %j', async (moment, kept) => {
    const before = await moments[moment]()
    await restart()
    const after = await serves()
    const samePod = before?.metadata.uid === after.metadata.uid
    const sameProcess = before !== undefined && samePod && pidOf(before) === pidOf(after)
    expect(kept).toContain(sameProcess ? 'Pod and process' : samePod ? 'Pod' : 'nothing')
  })

  it.each([
    ['while it is loading', 1],
    ['when it is ready', 1],
    ['while its Pod is stopping', 0],
  ] as const)('serves after its engine was killed %s, with %i restarts', async (moment, restarts) => {
    const before = await moments[moment]()
    process.kill(pidOf(before), 'SIGKILL')
    const isAnother = (pod: Pod) => isStarted(pod) && pidOf(pod) !== pidOf(before)
    const next = await stage.untilPod(isAnother)
    expect(next.status?.containerStatuses?.[0]?.restartCount).toBe(restarts)
    expect(pidOf(await serves())).toBe(pidOf(next))
  })

  it('sleeps after sluice was killed while its last Pod was draining, and wakes again', async () => {
    await stage.create(name, { minReplicas: 0, replicas: 1 })
    await stage.untilPod(isPodReady)
    await stage.client.scale(modelKind, { namespace, name }, 0)
    await stage.untilModel(name, ({ status }) => status?.phase === 'Draining')
    await restart()
    await stage.untilModel(name, ({ status }) => status?.phase === 'Asleep')
    expect(stage.processes().size).toBe(0)
    expect((await stage.chat(name)).status).toBe(200)
    await serves()
  })

  it('says what its engine said last, when that ends again and again', async () => {
    await stage.create(name, { args: ['--max-model-len', '1000000'] })
    const { status } = await stage.untilModel(name, ({ status }) => /ended/.test(status?.message ?? ''))
    expect(status?.message).toContain('--max-model-len is 1000000')
    expect(status?.readyReplicas).toBe(0)
  })
})
