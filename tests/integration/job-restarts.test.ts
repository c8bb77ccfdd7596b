import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/foundation/clock.ts'
import { silentLogger } from '../../src/foundation/log.ts'
import { AgentStage, statusOf } from '../../src/node/agent-stage.fixture.ts'
import { type Job, jobKind } from '../../src/resources/job.ts'
import { type Pod, podKind } from '../../src/resources/pod.ts'
import { WorkloadControllers } from '../../src/workloads/workload-controllers.ts'

// A Job whose containers are restarted in place, with only the Job controller and a node with real processes.
const never = new AbortController().signal
const namespace = 'default'
let stage: AgentStage
let controllers: WorkloadControllers

beforeEach(async () => {
  stage = await new AgentStage('detect').prepare()
  const { client } = stage
  const finalizeNamespace = (name: string) => client.finalizeNamespace(name)
  const servedKinds = () => client.servedKinds()
  controllers = new WorkloadControllers({
    client,
    finalizeNamespace,
    servedKinds,
    clock: systemClock,
    log: silentLogger,
  })
  await controllers.start(never)
})
afterEach(async () => {
  await controllers.stop()
  await stage.close()
})

async function createJob(name: string, script: string, spec: Record<string, unknown>): Promise<void> {
  const container = {
    name: 'main',
    image: 'r/sh',
    args: [script],
    volumeMounts: [{ name: 'data', mountPath: '/sluice-data' }],
  }
  const template = {
    spec: { restartPolicy: 'OnFailure', containers: [container], volumes: [{ name: 'data', emptyDir: {} }] },
  }
  await stage.client.create(jobKind, { metadata: { name, namespace }, spec: { template, ...spec } })
}

async function ended(
  name: string,
): Promise<{ job: Job; pods: readonly Pod[]; seen: ReadonlySet<string>; restarts: number }> {
  const seen = new Set<string>()
  let restarts = 0
  let pods: readonly Pod[] = []
  await expect
    .poll(
      async () => {
        ;({ items: pods } = await stage.client.list(podKind, { namespace }))
        for (const pod of pods) {
          seen.add(pod.metadata.uid ?? '')
          restarts = Math.max(restarts, statusOf(pod)?.restartCount ?? 0)
        }
        const job = await stage.client.get(jobKind, { namespace, name })
        return job?.status?.conditions?.some(({ type }) => type === 'Complete' || type === 'Failed') ?? false
      },
      { timeout: 60_000, interval: 20 },
    )
    .toBe(true)
  const job = await stage.client.get(jobKind, { namespace, name })
  if (!job) throw new Error('the Job is gone')
  return { job, pods, seen, restarts }
}

describe('a Job whose containers are restarted on failure', () => {
  it('completes in the Pods that failed first, each restarted once with what it had written', async () => {
    const failOnce = 'if [ -r /sluice-data/foo ]; then exit 0; else touch /sluice-data/foo; exit 1; fi'
    await createJob('fail-once-local', failOnce, { parallelism: 2, completions: 4, backoffLimit: 6 })
    const { job, pods, seen } = await ended('fail-once-local')
    expect(job.status).toMatchObject({ succeeded: 4 })
    expect(job.status?.failed).toBeUndefined()
    expect(seen.size).toBe(4)
    expect(pods.map((pod) => [pod.status?.phase, statusOf(pod)?.restartCount])).toEqual(
      Array.from({ length: 4 }, () => ['Succeeded', 1]),
    )
    expect(pods.map((pod) => statusOf(pod)?.lastState?.terminated?.exitCode)).toEqual([1, 1, 1, 1])
  })

  it('fails when they have been restarted as often as it allows', async () => {
    await createJob('fails-always', 'exit 3', { backoffLimit: 1 })
    const { job, seen, restarts } = await ended('fails-always')
    expect(job.status?.conditions?.find(({ type }) => type === 'Failed')?.reason).toBe('BackoffLimitExceeded')
    expect(seen.size).toBe(1)
    expect(restarts).toBeLessThanOrEqual(1)
  })
})
