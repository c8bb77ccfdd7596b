import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import type { Pod } from '../../resources/pod.ts'
import { AgentStage, isRunning, statusOf } from '../agent-stage.fixture.ts'

let stage: AgentStage
afterEach(() => stage.close())

const forever = 'trap "exit 0" TERM; while :; do sleep 0.05; done'
const hasFailed = (pod: Pod) => pod.status?.phase === 'Failed'
const mount = { volumeMounts: [{ name: 'work', mountPath: '/sluice-work' }] }
const write = (mebibytes: number, path: string) => `head -c ${mebibytes * 2 ** 20} /dev/zero >${path}`

/** Advances time by one measuring period at a time. */
async function untilEvicted(clock: FakeClock, name: string): Promise<Pod> {
  return stage.until(name, (pod) => {
    void clock.advance(10_000)
    return hasFailed(pod)
  })
}

/** If memory volumes can be mounted, the kernel already limits them. */
const measured = process.getuid?.() === 0 ? [''] : ['', 'Memory']

describe('a Pod that stores more than it may', () => {
  it.each(measured)('in a volume of the medium %j is evicted, and leaves nothing', async (medium) => {
    const clock = new FakeClock()
    stage = await new AgentStage('detect', { clock }).prepare()
    const volumes = [{ name: 'work', emptyDir: { medium, sizeLimit: '1Mi' } }]
    const modest = `${write(0, '/sluice-work/file')}; ${forever}`
    await stage.create('modest', modest, mount, { volumes })
    await stage.create('greedy', `${write(2, '/sluice-work/file')}; ${forever}`, mount, { volumes })
    await stage.until('modest', isRunning)
    const pod = await untilEvicted(clock, 'greedy')
    const message = 'Usage of EmptyDir volume "work" exceeds the limit "1Mi". '
    expect(pod.status).toMatchObject({ reason: 'Evicted', message })
    const disrupted = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message }
    expect(pod.status?.conditions).toContainEqual(expect.objectContaining(disrupted))
    expect(statusOf(pod)?.state?.terminated).toBeDefined()
    await clock.advance(60_000)
    await expect.poll(() => stage.events('greedy')).toContainEqual(`Evicted: ${message}`)
    const folder = join(stage.dataDir, 'node', 'scratch', pod.metadata.uid ?? '', 'volumes')
    await expect.poll(() => existsSync(folder)).toBe(false)
    expect((await stage.pod('modest')).status?.phase).toBe('Running')
    // Memory volumes are not in the stage's folder, so they must be removed here.
    await stage.delete('modest', 0)
    await stage.untilGone('modest')
  })

  it('by its logs is evicted, with what its containers may store together', async () => {
    const clock = new FakeClock()
    stage = await new AgentStage('paths', { clock }).prepare()
    const limits = { resources: { limits: { 'ephemeral-storage': '1Mi' } } }
    await stage.create('chatty', `${write(2, '/dev/stdout')}; ${forever}`, limits)
    const pod = await untilEvicted(clock, 'chatty')
    const message = 'Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. '
    expect(pod.status).toMatchObject({ reason: 'Evicted', message })
  })

  it('in one container is evicted, though another could store it', async () => {
    const clock = new FakeClock()
    stage = await new AgentStage('paths', { clock }).prepare()
    const limited = (size: string) => ({ resources: { limits: { 'ephemeral-storage': size } } })
    const other = { name: 'other', image: 'r/sh', args: [forever], ...limited('1Gi') }
    const main = { name: 'main', image: 'r/sh', args: [forever], ...limited('1Mi') }
    const { metadata } = await stage.create('partial', '', {}, { containers: [main, other] })
    await stage.until('partial', isRunning)
    const folder = join(stage.dataDir, 'node', 'scratch', metadata.uid ?? '', 'containers', 'main')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'written'), Buffer.alloc(2 * 2 ** 20, 1))
    const pod = await untilEvicted(clock, 'partial')
    const message = 'Container main exceeded its local ephemeral storage limit "1Mi". '
    expect(pod.status).toMatchObject({ reason: 'Evicted', message })
  })
})
