import { afterEach, describe, expect, it } from 'vitest'
import type { Pod } from '../../resources/pod.ts'
import { AgentStage, isRunning, pidOf, statusOf } from '../agent-stage.fixture.ts'
import { isolationModes } from '../isolation/permitted-modes.fixture.ts'
import { processesMarked } from '../processes/process-identity.ts'

const isRoot = process.getuid?.() === 0
const forever = 'trap "exit 0" TERM; echo up; while :; do sleep 0.05; done'
const looks = (pod: Pod) => statusOf(pod, 'looker')?.state?.running !== undefined
const hasLooked = (pod: Pod) => statusOf(pod, 'looker')?.state?.terminated !== undefined

let stage: AgentStage
afterEach(() => stage.close())

for (const { mode, permitted, name } of isolationModes) {
  describe.skipIf(!permitted)(`a container that is added to a Pod ${name}`, () => {
    it('is started once, and says nothing about how the Pod does', async () => {
      stage = await new AgentStage(mode).prepare()
      await stage.create('web', forever)
      await stage.until('web', isRunning)
      await stage.look('web', 'exit 3')
      const pod = await stage.until('web', hasLooked)
      expect(pod.status).toMatchObject({ phase: 'Running' })
      expect(statusOf(pod)).toMatchObject({ ready: true, restartCount: 0 })
      expect(pod.status?.ephemeralContainerStatuses).toEqual([
        expect.objectContaining({ name: 'looker', ready: false, restartCount: 0 }),
      ])
      expect(statusOf(pod, 'looker')?.state?.terminated).toMatchObject({ exitCode: 3, reason: 'Error' })
      const started = expect.stringContaining('Started container looker')
      await expect.poll(() => stage.events('web')).toContainEqual(started)
      // Another can still be added, and the first one stays as it is.
      await stage.look('web', forever, { name: 'second' })
      const both = await stage.until('web', (now) => statusOf(now, 'second')?.state?.running !== undefined)
      expect(statusOf(both, 'looker')?.state?.terminated).toMatchObject({ exitCode: 3 })
    })

    it('goes on while the node is killed and started again, is not started again, and ends with the Pod', async () => {
      stage = await new AgentStage(mode).prepare()
      await stage.create('web', forever)
      await stage.until('web', isRunning)
      await stage.look('web', forever)
      const before = await stage.until('web', looks)
      stage.lose()
      await stage.start()
      const after = await stage.until('web', looks)
      expect(pidOf(after, 'looker')).toBe(pidOf(before, 'looker'))
      await stage.delete('web', 1)
      await stage.untilGone('web')
      expect(processesMarked(`SLUICE_POD_UID=${before.metadata.uid}`)).toEqual([])
    })

    it('ends with the work of the Pod', async () => {
      stage = await new AgentStage(mode).prepare()
      await stage.create('task', 'until [ -e ~/over ]; do sleep 0.05; done', {}, { restartPolicy: 'Never' })
      await stage.until('task', isRunning)
      await stage.look('task', `touch ~/over; ${forever}`)
      const pod = await stage.until('task', ({ status }) => status?.phase === 'Succeeded')
      expect(statusOf(pod, 'looker')?.state?.terminated).toBeDefined()
    })

    it('does not take the Pod with it where it cannot be started', async () => {
      stage = await new AgentStage(mode).prepare()
      await stage.create('web', forever)
      await stage.until('web', isRunning)
      await stage.look('web', 'true', { image: 'r/nothing' })
      const pod = await stage.until('web', (now) => statusOf(now, 'looker')?.state?.waiting?.reason === 'ErrImagePull')
      expect(pod.status?.phase).toBe('Running')
    })
  })
}

const permitted = isRoot && isolationModes.some(({ mode, permitted: is }) => mode === 'namespaces' && is)

describe.skipIf(!permitted)('a container that is added to look at another', () => {
  it('sees its processes, is ended with it, and leaves nothing behind when it ends itself', async () => {
    stage = await new AgentStage('namespaces').prepare()
    await stage.create('web', `exec sh -c '${forever.replaceAll("'", '')}'`)
    await stage.until('web', isRunning)
    await stage.look('web', 'ls -d /proc/[0-9]* | wc -l; tr "\\0" " " </proc/2/cmdline; sleep 3000 & exit 4', {
      targetContainerName: 'main',
      terminationMessagePolicy: 'FallbackToLogsOnError',
    })
    const pod = await stage.until('web', hasLooked)
    const { exitCode, message = '' } = statusOf(pod, 'looker')?.state?.terminated ?? {}
    expect(exitCode).toBe(4)
    expect(message).toContain('trap')
    expect(processesMarked(`SLUICE_POD_UID=${pod.metadata.uid}`, 'SLUICE_CONTAINER=looker.0')).toEqual([])
    await stage.look('web', forever, { name: 'second', targetContainerName: 'main' })
    await stage.until('web', (now) => statusOf(now, 'second')?.state?.running !== undefined)
    process.kill(pidOf(pod), 'SIGKILL')
    const ended = await stage.until('web', (now) => statusOf(now, 'second')?.state?.terminated !== undefined)
    expect(statusOf(ended, 'second')?.state?.terminated).toMatchObject({ exitCode: 137 })
  })

  it.each([false, true])('is asked to end, and may take its time to (with a terminal: %s)', async (tty) => {
    stage = await new AgentStage('namespaces').prepare()
    await stage.create('web', forever, {}, { terminationGracePeriodSeconds: 20 })
    await stage.until('web', isRunning)
    const script = 'trap "sleep 0.2; exit 9" TERM; touch ~/looks; while :; do sleep 0.05; done'
    await stage.look('web', script, { targetContainerName: 'main', tty })
    const pod = await stage.until('web', looks)
    const uid = pod.metadata.uid ?? ''
    const words = ['/bin/sh', '-c', 'until [ -e /home/pod/looks ]; do sleep 0.02; done']
    await stage.runtime.exec(uid, 'main', words, {}, new AbortController().signal)
    await stage.runtime.stop(uid, 15_000, 'looker')
    const ended = await stage.until('web', hasLooked)
    expect(statusOf(ended, 'looker')?.state?.terminated).toMatchObject({ exitCode: 9 })
    expect(statusOf(ended)?.state?.running).toBeDefined()
  })

  it('has no more memory than all of the Pod may have', async () => {
    stage = await new AgentStage('namespaces').prepare()
    if (!(await stage.runtime.facts()).limitsEnforced) return
    await stage.create('web', forever, { resources: { limits: { memory: '64Mi', cpu: '1' } } })
    await stage.until('web', isRunning)
    await stage.look('web', 'head -c 200000000 /dev/zero | tail')
    const pod = await stage.until('web', hasLooked)
    expect(statusOf(pod, 'looker')?.state?.terminated).toMatchObject({ exitCode: 137, reason: 'OOMKilled' })
    expect(statusOf(pod)?.state?.running).toBeDefined()
  })

  it('waits for one that does not run', async () => {
    stage = await new AgentStage('namespaces').prepare()
    await stage.create('web', 'exit 1')
    await stage.until('web', (pod) => statusOf(pod)?.state?.waiting?.reason === 'CrashLoopBackOff')
    await stage.look('web', 'true', { targetContainerName: 'main' })
    const pod = await stage.until('web', (now) => statusOf(now, 'looker')?.state?.waiting?.message !== undefined)
    expect(statusOf(pod, 'looker')?.state?.waiting).toMatchObject({
      reason: 'CreateContainerError',
      message: 'unable to find target container main',
    })
  })
})
