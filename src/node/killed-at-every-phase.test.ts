import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Pod, isPodReady } from '../resources/pod.ts'
import { AgentStage, card, isRunning, pidOf, statusOf } from './agent-stage.fixture.ts'
import { isolationModes } from './isolation/permitted-modes.fixture.ts'
import { processesMarked, sendSignal } from './processes/process-identity.ts'

let stage: AgentStage
afterEach(() => stage.close())

const forever = "trap 'exit 0' TERM; while :; do sleep 0.05; done"
const gate = { volumes: [{ name: 'gate', persistentVolumeClaim: { claimName: 'gate' } }] }
const mounted = { volumeMounts: [{ name: 'gate', mountPath: '/sluice-gate' }] }
const pass = 'until [ -e /sluice-gate/open ]; do sleep 0.02; done'

/** The phases of a Pod's life, how to get there, and which container counts then. */
const phases: readonly {
  readonly phase: string
  readonly container: string
  readonly bring: () => Promise<Pod>
  readonly outcome: 'ready' | 'gone'
}[] = [
  {
    phase: 'while an init container runs',
    container: 'init',
    outcome: 'ready',
    bring: async () => {
      const init = { name: 'init', image: 'r/sh', args: [pass], ...mounted }
      await stage.create('web', forever, {}, { ...gate, initContainers: [init] })
      return stage.until('web', (pod) => statusOf(pod, 'init')?.state?.running !== undefined)
    },
  },
  {
    phase: 'before it has started',
    container: 'main',
    outcome: 'ready',
    bring: async () => {
      const startupProbe = {
        exec: { command: ['test', '-e', '/sluice-gate/open'] },
        periodSeconds: 1,
        failureThreshold: 60,
      }
      await stage.create('web', forever, { startupProbe, ...mounted }, gate)
      return stage.until('web', (pod) => statusOf(pod)?.state?.running !== undefined)
    },
  },
  {
    phase: 'when it is ready',
    container: 'main',
    outcome: 'ready',
    bring: async () => {
      await stage.create('web', forever, { resources: { limits: { [card]: '2' } } })
      return stage.until('web', isPodReady)
    },
  },
  {
    phase: 'while it ends',
    container: 'main',
    outcome: 'gone',
    bring: async () => {
      const script = "trap 'touch /sluice-gate/asked' TERM; touch /sluice-gate/up; while :; do sleep 0.02; done"
      await stage.create('web', script, { ...mounted, resources: { limits: { [card]: '2' } } }, gate)
      const pod = await stage.until('web', isRunning)
      // Asked to end before its trap is set, it would end at once.
      await expect.poll(() => existsSync(join(stage.dataDir, 'volumes/gate/up'))).toBe(true)
      await stage.delete('web', 600)
      return pod
    },
  },
]

async function open(): Promise<void> {
  await stage.create('opener', 'touch /sluice-gate/open', mounted, { ...gate, restartPolicy: 'Never' })
  await stage.until('opener', (pod) => pod.status?.phase === 'Succeeded')
}

/** Waits for the outcome; says where the Pod is in the end, and what is left of the old process and its cards. */
async function arrive(outcome: 'ready' | 'gone', before: Pod): Promise<{ where: string; after: Pod | undefined }> {
  if (outcome === 'ready') {
    await open()
    return { where: 'ready', after: await stage.until('web', isPodReady) }
  }
  await stage.untilGone('web')
  const processes = () => processesMarked(`SLUICE_POD_UID=${before.metadata.uid}`).length
  await vi.waitUntil(() => processes() === 0 && stage.agent.heldCards === 0, { timeout: 20_000, interval: 20 })
  return { where: 'gone', after: undefined }
}

for (const { mode, permitted, name } of isolationModes) {
  describe.skipIf(!permitted)(`a Pod ${name}`, () => {
    beforeEach(async () => {
      stage = await new AgentStage(mode).prepare()
    })

    for (const { phase, container, bring, outcome } of phases) {
      it(`comes to where it should when its process is killed ${phase}`, async () => {
        const before = await bring()
        expect(sendSignal(pidOf(before, container), 'SIGKILL')).toBe(true)
        if (outcome === 'ready') await stage.until('web', (pod) => statusOf(pod, container)?.restartCount === 1)
        expect(await arrive(outcome, before)).toMatchObject({ where: outcome })
      })

      it(`comes to where it should when the node is killed ${phase}, and its process lives on`, async () => {
        const before = await bring()
        stage.lose()
        await stage.start()
        const kept = pidOf(before, container)
        // A shell that is about to become the program does not carry its variables yet.
        const sessions = () => processesMarked(`SLUICE_POD_UID=${before.metadata.uid}`).map(({ session }) => session)
        await expect.poll(sessions).toContain(kept)
        // This program ignores SIGTERM, so the rest of the grace is cut short.
        if (outcome === 'gone') await stage.delete('web', 0)
        const { where, after } = await arrive(outcome, before)
        expect(where).toBe(outcome)
        expect(after && statusOf(after, container)?.restartCount).toBe(after && 0)
        expect(after && container === 'main' ? pidOf(after) : kept).toBe(kept)
      })

      it(`comes to where it should when node and process are killed ${phase}`, async () => {
        const before = await bring()
        stage.lose()
        sendSignal(pidOf(before, container), 'SIGKILL')
        await stage.start()
        expect(await arrive(outcome, before)).toMatchObject({ where: outcome })
      })
    }
  })
}
