import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Pod, podKind } from '../../resources/pod.ts'
import { AgentStage, isRunning, statusOf } from '../agent-stage.fixture.ts'
import { deadlineOf, lookAt } from './pod-verdict.ts'

const forever = 'while :; do sleep 0.05; done'
const hasFailed = (pod: Pod) => pod.status?.phase === 'Failed'
const deadlineMessage = 'Pod was active on the node longer than the specified deadline'

describe('a deadline', () => {
  const pod = (activeDeadlineSeconds?: number): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [], restartPolicy: 'Always', terminationGracePeriodSeconds: 30, activeDeadlineSeconds },
  })

  it('counts from when the node took the Pod on', () => {
    expect(deadlineOf(pod(5), 1000)).toBe(6000)
    expect(deadlineOf(pod(5), undefined)).toBeUndefined()
    expect(deadlineOf(pod(), 1000)).toBeUndefined()
  })

  it('that is years away is looked at once a day, which timers can wait for', () => {
    const now = 1000
    expect(lookAt(deadlineOf(pod(2 ** 31 - 1), now), now)).toBe(now + 86_400_000)
    expect(lookAt(undefined, now)).toBe(Infinity)
  })
})

describe('a Pod that may be active only so long', () => {
  let stage: AgentStage
  beforeEach(async () => {
    stage = await new AgentStage('detect').prepare()
  })
  afterEach(() => stage.close())

  it('fails with that as the reason when the time is over, and nothing of it runs on', async () => {
    const script = `trap 'exit 3' TERM; ${forever}`
    await stage.create('timed', script, {}, { activeDeadlineSeconds: 1, restartPolicy: 'Always' })
    const pod = await stage.until('timed', hasFailed)
    expect(pod.status).toMatchObject({ reason: 'DeadlineExceeded', message: deadlineMessage })
    expect(statusOf(pod)?.state?.terminated?.exitCode).toBe(3)
    const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready')
    expect(ready).toMatchObject({ status: 'False', reason: 'PodFailed' })
    await expect
      .poll(() => stage.events('timed'))
      .toEqual(expect.arrayContaining([`DeadlineExceeded: ${deadlineMessage}`, 'Killing: Stopping container main']))
  })

  it('ends also where it waits for something and never ran', async () => {
    const spec = { activeDeadlineSeconds: 1, volumes: [{ name: 'v', configMap: { name: 'missing' } }] }
    await stage.create('waits', forever, {}, spec)
    const pod = await stage.until('waits', hasFailed)
    expect(pod.status?.reason).toBe('DeadlineExceeded')
  })

  it('ends its init containers, too, and says that it was not initialized', async () => {
    const initContainers = [{ name: 'init', image: 'r/sh', args: [forever] }]
    await stage.create(
      'inits',
      forever,
      {},
      { activeDeadlineSeconds: 1, initContainers, terminationGracePeriodSeconds: 0 },
    )
    const pod = await stage.until('inits', hasFailed)
    expect(pod.status?.reason).toBe('DeadlineExceeded')
    expect(statusOf(pod, 'init')?.state?.terminated?.exitCode).toBe(137)
    const initialized = pod.status?.conditions?.find(({ type }) => type === 'Initialized')
    expect(initialized?.status).toBe('False')
  })

  it('is given a shorter one while it runs', async () => {
    await stage.create('cut', forever, {}, { activeDeadlineSeconds: 3600, terminationGracePeriodSeconds: 0 })
    await stage.until('cut', isRunning)
    await stage.client.patch(podKind, { namespace: 'default', name: 'cut' }, { spec: { activeDeadlineSeconds: 1 } })
    expect((await stage.until('cut', hasFailed)).status?.reason).toBe('DeadlineExceeded')
  })

  it('has its time counted on while the node is not there', async () => {
    await stage.create('lost', forever, {}, { activeDeadlineSeconds: 1, terminationGracePeriodSeconds: 0 })
    await stage.until('lost', isRunning)
    stage.lose()
    await stage.start()
    expect((await stage.until('lost', hasFailed)).status?.reason).toBe('DeadlineExceeded')
  })
})
