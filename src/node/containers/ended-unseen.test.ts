import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AgentStage, isRunning, pidOf, statusOf } from '../agent-stage.fixture.ts'
import { isolationModes } from '../isolation/permitted-modes.fixture.ts'
import { isAlive, processesMarked, readProcess, sendSignal } from '../processes/process-identity.ts'
import type { Pod } from '../../resources/pod.ts'

let stage: AgentStage
afterEach(() => stage.close())

const gate = { volumes: [{ name: 'gate', persistentVolumeClaim: { claimName: 'gate' } }] }
const mounted = { volumeMounts: [{ name: 'gate', mountPath: '/sluice-gate' }] }
/** Counts its runs, and waits to be let go. */
const script = (end: string) =>
  `echo ran >>/sluice-gate/runs; until [ -e /sluice-gate/open ]; do sleep 0.02; done; ${end}`
const gateFile = (name: string) => join(stage.dataDir, 'volumes/gate', name)
const runs = () => (existsSync(gateFile('runs')) ? readFileSync(gateFile('runs'), 'utf8').split('\n').length - 1 : 0)
const terminatedOf = (pod: Pod) => statusOf(pod)?.state?.terminated

/** Lets it end, and waits until its waiting shell is gone, too, if the Pod says which that is. */
async function letItEnd(pod: Pod): Promise<void> {
  writeFileSync(gateFile('open'), '')
  const leader = readProcess(pidOf(pod))
  const isLeft = () =>
    processesMarked(`SLUICE_POD_UID=${pod.metadata.uid}`).length > 0 || (leader !== undefined && isAlive(leader))
  await expect.poll(isLeft).toBe(false)
}

/** Waits until the node has recorded the end. */
async function endRecorded({ metadata }: Pod): Promise<void> {
  const path = join(stage.dataDir, 'node/pods', `${metadata.uid}.json`)
  await expect.poll(() => readFileSync(path, 'utf8')).toContain('"exit":')
}

for (const { mode, permitted, name } of isolationModes) {
  describe.skipIf(!permitted)(`a container ${name} that ends while the node is down`, () => {
    beforeEach(async () => {
      stage = await new AgentStage(mode).prepare()
    })

    const run = (end: string, restartPolicy = 'Never') =>
      stage.create('web', script(end), mounted, { ...gate, restartPolicy })

    for (const { what, end, phase, terminated } of [
      { what: 'have succeeded', end: 'exit 0', phase: 'Succeeded', terminated: { exitCode: 0, reason: 'Completed' } },
      {
        what: 'have failed, with its last words',
        end: 'echo why >/dev/termination-log; exit 3',
        phase: 'Failed',
        terminated: { exitCode: 3, reason: 'Error', message: 'why\n' },
      },
      {
        what: 'have been killed',
        end: 'kill -9 $$$$',
        phase: 'Failed',
        terminated: { exitCode: 137, signal: 9, reason: 'Error', message: 'ended by SIGKILL' },
      },
    ]) {
      it(`is known to ${what}, and ran once`, async () => {
        await run(end)
        const before = await stage.until('web', isRunning)
        stage.lose()
        await letItEnd(before)
        await stage.start()
        const after = await stage.until('web', (pod) => pod.status?.phase === phase)
        expect(terminatedOf(after)).toMatchObject(terminated)
        expect(runs()).toBe(1)
      })
    }

    it('is known to have been killed together with the shell that waits for it', async () => {
      await run('')
      const before = await stage.until('web', isRunning)
      stage.lose()
      for (const { pid } of processesMarked(stage.nodeMark)) sendSignal(pid, 'SIGKILL')
      sendSignal(-pidOf(before), 'SIGKILL')
      await letItEnd(before)
      await stage.start()
      const after = await stage.until('web', (pod) => pod.status?.phase === 'Failed')
      expect(terminatedOf(after)).toMatchObject({ exitCode: 137, reason: 'Error' })
    })

    it('is shown with the time at which it ended', async () => {
      await run('exit 0')
      const before = await stage.until('web', isRunning)
      stage.lose()
      await letItEnd(before)
      const exitFile = join(stage.dataDir, 'node/scratch', before.metadata.uid ?? '', 'containers/main/exit')
      const at = new Date('2035-01-02T03:04:05Z')
      await expect.poll(() => readFileSync(exitFile, 'utf8')).toContain('\n0\n')
      utimesSync(exitFile, at, at)
      await stage.start()
      const after = await stage.until('web', (pod) => pod.status?.phase === 'Succeeded')
      expect(terminatedOf(after)?.finishedAt).toBe('2035-01-02T03:04:05Z')
    })

    it('is started again where it should be, and its status says how it ended', async () => {
      await run('[ $(wc -l </sluice-gate/runs) = 2 ] && exec sleep 1000; exit 3', 'OnFailure')
      const before = await stage.until('web', isRunning)
      stage.lose()
      await letItEnd(before)
      await stage.start()
      const after = await stage.until('web', (pod) => statusOf(pod)?.restartCount === 1)
      expect(statusOf(after)?.lastState?.terminated).toMatchObject({ exitCode: 3, reason: 'Error' })
    })

    it('is known to have ended though the node was lost before it could say so', async () => {
      await run('exit 4')
      const before = await stage.until('web', isRunning)
      stage.muted = true
      await letItEnd(before)
      await endRecorded(before)
      stage.lose()
      stage.muted = false
      await stage.start()
      const after = await stage.until('web', (pod) => pod.status?.phase === 'Failed')
      expect(terminatedOf(after)).toMatchObject({ exitCode: 4, reason: 'Error' })
      expect(runs()).toBe(1)
    })

    it('is not run a second time though the node was lost before it could say that it ran', async () => {
      stage.muted = true
      const created = await run('exit 0')
      await expect.poll(runs).toBe(1)
      await letItEnd(created)
      stage.lose()
      stage.muted = false
      await stage.start()
      const after = await stage.until('web', (pod) => pod.status?.phase === 'Succeeded')
      expect(terminatedOf(after)).toMatchObject({ exitCode: 0 })
      expect(runs()).toBe(1)
    })

    it('leaves no record once its end is in the cluster', async () => {
      const created = await run('exit 0')
      await expect.poll(runs).toBe(1)
      await letItEnd(created)
      await stage.until('web', (pod) => pod.status?.phase === 'Succeeded')
      const path = join(stage.dataDir, 'node/pods', `${created.metadata.uid}.json`)
      await expect.poll(() => existsSync(path)).toBe(false)
    })

    it('runs again when it was the node that ended it', async () => {
      await run('exit 0')
      await expect.poll(runs).toBe(1)
      await stage.until('web', isRunning)
      await stage.stop()
      await stage.start()
      await expect.poll(runs).toBe(2)
      await stage.until('web', isRunning)
    })
  })
}
