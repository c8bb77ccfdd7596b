import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Pod, podKind } from '../resources/pod.ts'
import { AgentStage, isRunning, statusOf } from './agent-stage.fixture.ts'
import { processesMarked } from './processes/process-identity.ts'

const idle = 'exec sleep 1000'

let stage: AgentStage
let starts = 0
let started: PromiseWithResolvers<void>
let stopped: PromiseWithResolvers<void>
let removed: PromiseWithResolvers<void>
/** Once a Pod's containers have ended, whoever ended them waits for this. */
let ended: Promise<void>

beforeEach(async () => {
  stage = await new AgentStage('detect').prepare()
  starts = 0
  started = Promise.withResolvers()
  stopped = Promise.withResolvers()
  removed = Promise.withResolvers()
  ended = Promise.resolve()
  const { runtime } = stage
  const [start, stop, forget] = [runtime.start.bind(runtime), runtime.stop.bind(runtime), runtime.forget.bind(runtime)]
  runtime.start = (...launch) => {
    starts += 1
    started.resolve()
    return start(...launch)
  }
  runtime.stop = async (...pod) => {
    await stop(...pod)
    stopped.resolve()
    await ended
  }
  runtime.forget = (pod) => forget(pod).finally(removed.resolve)
})

afterEach(() => stage.close())

const unbound = (name: string) => stage.create(name, idle, {}, { nodeName: undefined })
const foresee = (pod: Pod, nodeName = 'here') => stage.agent.foresee({ ...pod, spec: { ...pod.spec, nodeName } })
const bind = (name: string) =>
  stage.client.patch(podKind, { namespace: 'default', name }, { spec: { nodeName: 'here' } })
/** To be polled: while a shell becomes another program, the kernel shows no environment. */
const processes = (pod: Pod) => processesMarked(`SLUICE_POD_UID=${pod.metadata.uid}`)

describe('a Pod that is about to be bound', () => {
  it('is ended if it is not bound after all, and nothing is said of it', async () => {
    const pod = await unbound('never')
    const takeBack = foresee(pod)
    await started.promise
    takeBack?.()
    await removed.promise
    expect(processes(pod)).toEqual([])
    expect((await stage.pod('never')).status?.containerStatuses).toBeUndefined()
  })

  it('is said to run only when it is bound', async () => {
    const pod = await unbound('early')
    foresee(pod)
    await started.promise
    // By the time that this one runs, the agent has looked at the other, too.
    await stage.create('later', idle)
    await stage.until('later', isRunning)
    await expect.poll(() => processes(pod)).toHaveLength(1)
    expect((await stage.pod('early')).status).toEqual(pod.status)
    await bind('early')
    expect(statusOf(await stage.until('early', isRunning))?.restartCount).toBe(0)
  })

  it('tells how it ended if that was before it was bound', async () => {
    const pod = await stage.create('quick', 'exit 3', {}, { nodeName: undefined, restartPolicy: 'Never' })
    foresee(pod)
    await stopped.promise
    // By the time that this one runs, the agent has done with the other, too.
    await stage.create('later', idle)
    await stage.until('later', isRunning)
    expect((await stage.pod('quick')).status).toEqual(pod.status)
    await bind('quick')
    const failed = await stage.until('quick', ({ status }) => status?.phase === 'Failed')
    expect(statusOf(failed)?.state?.terminated?.exitCode).toBe(3)
    expect(starts).toBe(2)
  })

  it('is nothing to a node if it is about to be bound to another one', async () => {
    expect(foresee(await unbound('other'), 'elsewhere')).toBeUndefined()
  })

  it.each(['before it starts', 'while it starts'])(
    'runs if it is bound although that was taken back %s',
    async (when) => {
      const pod = await unbound('again')
      const takeBack = foresee(pod)
      if (when === 'while it starts') await started.promise
      takeBack?.()
      await bind('again')
      expect(statusOf(await stage.until('again', isRunning))?.restartCount).toBe(0)
      await expect.poll(() => processes(pod)).toHaveLength(1)
    },
  )

  it('starts anew if it is bound while it is being removed, but not before it is', async () => {
    const { promise, resolve: letEnd } = Promise.withResolvers<void>()
    ended = promise
    const pod = await unbound('again')
    const takeBack = foresee(pod)
    await started.promise
    takeBack?.()
    await stopped.promise
    await bind('again')
    // By the time that this one runs, the agent has looked at the other, too.
    await stage.create('later', idle)
    await stage.until('later', isRunning)
    const startsMeanwhile = starts
    letEnd()
    expect(statusOf(await stage.until('again', isRunning))?.restartCount).toBe(0)
    expect([startsMeanwhile, starts]).toEqual([2, 3])
    await expect.poll(() => processes(pod)).toHaveLength(1)
  })
})
