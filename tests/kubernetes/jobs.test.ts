import { expect, it } from 'vitest'
import { jobKind } from '../../src/resources/job.ts'
import { podKind } from '../../src/resources/pod.ts'
import { readyStatus, reportPod, soon, withControllers } from './controllers.ts'

const tracking = 'batch.kubernetes.io/job-tracking'

withControllers((server) => {
  const here = () => ({ namespace: server.namespace })
  const pods = async () => (await server.client.list(podKind, here())).items
  const job = async () => server.client.get(jobKind, { ...here(), name: 'pi' })
  const status = async () => (await job())?.status
  const conditions = async () =>
    ((await status())?.conditions ?? []).map(({ type, status: value, reason }) => `${type} ${value} ${reason}`)
  const create = (spec: Record<string, unknown> = {}) => {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: server.image }] } }
    return server.ok('POST', server.path('jobs', 'batch/v1'), { metadata: { name: 'pi' }, spec: { template, ...spec } })
  }
  /** Ends the next running Pod, with a time in the past, so that a new attempt need not wait. */
  const end = async (
    phase: 'Succeeded' | 'Failed',
    exitCode = phase === 'Failed' ? 1 : 0,
    conditions: object[] = [],
  ) => {
    const isRunning = ({ status: found }: Awaited<ReturnType<typeof pods>>[number]) => found?.phase === 'Pending'
    await expect.poll(async () => (await pods()).some(isRunning), soon).toBe(true)
    const { items } = await server.ok('GET', server.path('pods'))
    const running = items.find((each) => (each['status'] as { phase: string }).phase === 'Pending')
    const at = new Date(Date.now() - 600_000).toISOString()
    const terminated = { exitCode, startedAt: at, finishedAt: at }
    const containerStatuses = [
      { name: 'main', ready: false, restartCount: 0, image: 'x', imageID: 'x', state: { terminated } },
    ]
    if (running)
      await reportPod(server, running, { phase, containerStatuses, ...(conditions.length > 0 && { conditions }) })
    return running?.metadata.name
  }
  const completed = ['SuccessCriteriaMet True CompletionsReached', 'Complete True CompletionsReached']

  it('runs a Pod to its end, and tells so', async () => {
    await create()
    await expect.poll(async () => (await status())?.active, soon).toBe(1)
    const [pod] = await pods()
    expect(pod?.metadata).toMatchObject({
      generateName: 'pi-',
      finalizers: [tracking],
      labels: { 'batch.kubernetes.io/job-name': 'pi', 'job-name': 'pi' },
      ownerReferences: [{ kind: 'Job', name: 'pi', controller: true, blockOwnerDeletion: true }],
    })
    await end('Succeeded')
    await expect.poll(conditions, soon).toEqual(completed)
    expect(await status()).toMatchObject({ succeeded: 1, ready: 0, terminating: 0, uncountedTerminatedPods: {} })
    expect((await status())?.completionTime).toBeDefined()
    expect((await pods())[0]?.metadata.finalizers).toBeUndefined()
    await expect
      .poll(() => server.kubectl('get events --no-headers'), soon)
      .toMatch(/Normal +Completed +job\/pi +Job completed/)
    expect(await server.kubectl('wait --for=condition=Complete job/pi --timeout=10s')).toContain('condition met')
  })

  it('runs indexes beside each other, each once', async () => {
    await create({ completions: 3, parallelism: 2, completionMode: 'Indexed' })
    await expect.poll(async () => (await pods()).length, soon).toBe(2)
    const index = 'batch.kubernetes.io/job-completion-index'
    const [pod] = (await pods()).toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name))
    expect(pod?.metadata).toMatchObject({
      generateName: 'pi-0-',
      labels: { [index]: '0' },
      annotations: { [index]: '0' },
    })
    expect(pod?.spec['hostname']).toBe('pi-0')
    expect(pod?.spec.containers[0]?.env).toMatchObject([
      { name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef: { fieldPath: `metadata.labels['${index}']` } } },
    ])
    for (let round = 0; round < 3; round += 1) await end('Succeeded')
    await expect.poll(conditions, soon).toEqual(completed)
    expect(await status()).toMatchObject({ succeeded: 3, completedIndexes: '0-2' })
  })

  it('tries again after a failure, and gives up after too many', async () => {
    await create({ backoffLimit: 1, parallelism: 2, completions: 4 })
    await end('Failed')
    await expect.poll(async () => [(await status())?.failed, (await pods()).length], soon).toEqual([1, 3])
    await end('Failed')
    await expect
      .poll(conditions, soon)
      .toEqual(['FailureTarget True BackoffLimitExceeded', 'Failed True BackoffLimitExceeded'])
    expect(await status()).toMatchObject({ failed: 3, ready: 0, terminating: 0 })
    expect((await pods()).map(({ status: found }) => found?.phase)).toEqual(['Failed', 'Failed'])
    await expect
      .poll(() => server.kubectl('get events --no-headers'), soon)
      .toMatch(/Warning +BackoffLimitExceeded +job\/pi +Job has reached the specified backoff limit/)
  })

  it('fails at once when a Pod ends in a way that its policy names', async () => {
    const onExitCodes = { operator: 'In', values: [42] }
    await create({ podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes }] } })
    const pod = await end('Failed', 42)
    await expect.poll(conditions, soon).toEqual(['FailureTarget True PodFailurePolicy', 'Failed True PodFailurePolicy'])
    const message = `Container main for pod ${server.namespace}/${pod} failed with exit code 42 matching FailJob rule at index 0`
    expect((await status())?.conditions).toMatchObject([{ message }, { message }])
    expect(await status()).toMatchObject({ failed: 1 })
  })

  it('does not count a failure that its policy ignores', async () => {
    const onPodConditions = [{ type: 'DisruptionTarget' }]
    await create({ backoffLimit: 0, podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions }] } })
    const lastTransitionTime = '2026-01-01T00:00:00Z'
    await end('Failed', 137, [{ type: 'DisruptionTarget', status: 'True', lastTransitionTime }])
    await end('Succeeded')
    await expect.poll(conditions, soon).toEqual(completed)
    expect((await status())?.failed).toBeUndefined()
  })

  it('counts failures by index, goes on with the others, and fails in the end', async () => {
    const failures = 'batch.kubernetes.io/job-index-failure-count'
    await create({ completionMode: 'Indexed', completions: 2, parallelism: 1, backoffLimitPerIndex: 1 })
    expect((await job())?.spec.backoffLimit).toBe(2_147_483_647)
    await end('Failed')
    await expect
      .poll(async () => new Set((await pods()).map(({ metadata }) => metadata.annotations?.[failures])), soon)
      .toEqual(new Set(['0', '1']))
    await end('Failed')
    await expect.poll(async () => (await status())?.failedIndexes, soon).toBe('0')
    await end('Succeeded')
    await expect.poll(conditions, soon).toEqual(['FailureTarget True FailedIndexes', 'Failed True FailedIndexes'])
    expect(await status()).toMatchObject({ failed: 2, succeeded: 1, failedIndexes: '0', completedIndexes: '1' })
  })

  it('gives up an index, or all of them, when its policy says so', async () => {
    const rules = [{ action: 'FailIndex', onExitCodes: { operator: 'In', values: [7] } }]
    const indexed = { completionMode: 'Indexed', completions: 3, parallelism: 1, backoffLimitPerIndex: 5 }
    await create({ ...indexed, maxFailedIndexes: 1, podFailurePolicy: { rules } })
    await end('Failed', 7)
    await expect.poll(async () => (await status())?.failedIndexes, soon).toBe('0')
    await end('Failed', 7)
    await expect
      .poll(conditions, soon)
      .toEqual(['FailureTarget True MaxFailedIndexesExceeded', 'Failed True MaxFailedIndexesExceeded'])
    expect(await status()).toMatchObject({ failedIndexes: '0,1' })
  })

  it('is complete when the indexes have succeeded that its policy asks for', async () => {
    const successPolicy = { rules: [{ succeededIndexes: '2' }, { succeededIndexes: '0-2', succeededCount: 1 }] }
    await create({ completionMode: 'Indexed', completions: 3, parallelism: 3, successPolicy })
    await expect.poll(async () => (await pods()).length, soon).toBe(3)
    await end('Succeeded')
    await expect
      .poll(conditions, soon)
      .toEqual(['SuccessCriteriaMet True SuccessPolicy', 'Complete True SuccessPolicy'])
    expect((await status())?.succeeded).toBe(1)
  })

  it('gives up when its time is over', async () => {
    await create({ activeDeadlineSeconds: 1 })
    await expect.poll(conditions, soon).toEqual(['FailureTarget True DeadlineExceeded', 'Failed True DeadlineExceeded'])
    expect(await pods()).toEqual([])
  })

  it('has no Pods while it is suspended', async () => {
    const suspend = (value: boolean) =>
      server.patch(server.path('jobs/pi', 'batch/v1'), 'merge', { spec: { suspend: value } })
    await create({ suspend: true })
    await expect.poll(conditions, soon).toEqual(['Suspended True JobSuspended'])
    expect((await status())?.startTime).toBeUndefined()
    await suspend(false)
    await expect.poll(conditions, soon).toEqual(['Suspended False JobResumed'])
    await expect.poll(async () => (await pods()).length, soon).toBe(1)
    await suspend(true)
    await expect.poll(async () => (await pods()).length, soon).toBe(0)
    await expect.poll(conditions, soon).toEqual(['Suspended True JobSuspended'])
    expect((await status())?.failed).toBeUndefined()
  })

  it('goes some time after it has finished', async () => {
    await create({ completions: 0, ttlSecondsAfterFinished: 1 })
    await expect.poll(job, soon).toBeUndefined()
  })

  it('takes its Pods along when it is deleted, however it is deleted', async () => {
    for (const cascade of ['background', 'foreground']) {
      await create({ parallelism: 2, completions: 2 })
      await expect.poll(async () => (await pods()).length, soon).toBe(2)
      const [first] = (await server.ok('GET', server.path('pods'))).items
      if (first) await reportPod(server, first, readyStatus())
      await server.kubectl(`delete job pi --cascade=${cascade} --timeout=30s`)
      await expect.poll(async () => (await pods()).length, soon).toBe(0)
    }
  })
})
