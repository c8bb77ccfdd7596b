import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { configMapKind } from '../resources/config-map.ts'
import { nodeKind } from '../resources/node.ts'
import { type Pod, isPodReady, podKind } from '../resources/pod.ts'
import { runtimeClassKind } from '../resources/runtime-class.ts'
import { secretKind } from '../resources/secret.ts'
import { AgentStage, isRunning, statusOf } from './agent-stage.fixture.ts'
import { readMachine } from './machine/machine-readings.ts'
import { processesMarked } from './processes/process-identity.ts'

let stage: AgentStage
afterEach(() => stage.close())

const claim = { volumes: [{ name: 'out', persistentVolumeClaim: { claimName: 'out' } }] }
const mounted = { volumeMounts: [{ name: 'out', mountPath: '/sluice-out' }] }
const forever = 'while :; do sleep 1; done'

function written(name: string): string | undefined {
  try {
    return readFileSync(join(stage.dataDir, 'volumes', 'out', name), 'utf8').trim()
  } catch {
    return undefined
  }
}

const patience = { timeout: 20_000, interval: 20 }
const untilWritten = (name: string, text: string) => vi.waitUntil(() => written(name) === text, patience)

describe('a Pod', () => {
  beforeEach(async () => {
    stage = await new AgentStage('detect', {
      tokens: (pod, audience, seconds) => Promise.resolve(`${pod.metadata.name}/${audience}/${seconds}`),
    }).prepare()
  })

  it('waits for the Secret its environment needs, says which, and starts as soon as it is there', async () => {
    const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'login', key: 'key' } } }]
    await stage.create('needy', `echo "$KEY" >/sluice-out/key; ${forever}`, { env, ...mounted }, claim)
    const waiting = await stage.until(
      'needy',
      (pod) => statusOf(pod)?.state?.waiting?.reason === 'CreateContainerConfigError',
    )
    expect(statusOf(waiting)?.state?.waiting?.message).toBe('secret "login" not found')
    const data = { key: Buffer.from('s3cret').toString('base64') }
    await stage.client.create(secretKind, { metadata: { name: 'login', namespace: 'default' }, data })
    await stage.until('needy', isRunning)
    await untilWritten('key', 's3cret')
  })

  it('waits for the annotation that names its part of a volume, and starts as soon as it is there', async () => {
    const env = [{ name: 'PART', valueFrom: { fieldRef: { fieldPath: "metadata.annotations['part']" } } }]
    const volumeMounts = [{ name: 'out', mountPath: '/sluice-out', subPathExpr: '$(PART)' }]
    await stage.create('parted', `echo here >/sluice-out/where; ${forever}`, { env, volumeMounts }, claim)
    const waiting = await stage.until(
      'parted',
      (pod) => statusOf(pod)?.state?.waiting?.reason === 'CreateContainerConfigError',
    )
    const problem = 'subPathExpr "$(PART)" refers to a variable that has no value'
    expect(statusOf(waiting)?.state?.waiting?.message).toBe(problem)
    const ref = { namespace: 'default', name: 'parted' }
    await stage.client.patch(podKind, ref, { metadata: { annotations: { part: 'mine' } } })
    await untilWritten('mine/where', 'here')
  })

  it('keeps the labels that somebody gives it while its status is written', async () => {
    const { client } = stage
    const ref = { namespace: 'default', name: 'watched' }
    const changeStatus = client.changeStatus.bind(client)
    vi.spyOn(client, 'changeStatus').mockImplementation(async (kind, about, change) => {
      const labels = { given: 'meanwhile' }
      if (about.name === ref.name) await client.patch(podKind, ref, { metadata: { labels } })
      return changeStatus(kind, about, change)
    })
    await stage.create('watched', forever)
    const pod = await stage.until('watched', isRunning)
    expect(pod.metadata.labels).toEqual({ given: 'meanwhile' })
  })

  it('that is deleted tells those who still hold it how it ended', async () => {
    const script = `trap 'exit 3' TERM; echo up >/sluice-out/up; while :; do sleep 0.05; done`
    await stage.create('held', script, mounted, claim)
    const ref = { namespace: 'default', name: 'held' }
    await stage.client.patch(podKind, ref, { metadata: { finalizers: ['example.com/holds'] } })
    await untilWritten('up', 'up')
    await stage.delete('held')
    const ended = await stage.until('held', (pod) => pod.status?.phase === 'Failed')
    expect(statusOf(ended)?.state?.terminated).toMatchObject({ exitCode: 3 })
    await stage.client.patch(podKind, ref, { metadata: { finalizers: null } })
    await stage.untilGone('held')
  })

  it('that is forced away is not said to be restarted later', async () => {
    const script = `[ -e /sluice-out/crashed ] || { touch /sluice-out/crashed; exit 1; }; ${forever}`
    await stage.create('forced', script, mounted, claim)
    const runsAgain = (pod: Pod) => statusOf(pod)?.restartCount === 1 && statusOf(pod)?.state?.running !== undefined
    const { metadata } = await stage.until('forced', runsAgain)
    await stage.delete('forced', 0)
    await vi.waitUntil(() => processesMarked(`SLUICE_POD_UID=${metadata.uid}`).length === 0, patience)
    await stage.stop()
    const told = await stage.events('forced')
    expect(told.filter((event) => event.startsWith('Started'))).not.toEqual([])
    expect(told.filter((event) => event.startsWith('BackOff'))).toEqual([])
  })

  it('waits for the ConfigMap of a volume, and sees every change of it', async () => {
    const volumes = [{ name: 'conf', configMap: { name: 'c' } }, ...claim.volumes]
    const volumeMounts = [{ name: 'conf', mountPath: '/sluice-conf' }, ...mounted.volumeMounts]
    const script =
      'while :; do cp /sluice-conf/a /sluice-out/.new && mv /sluice-out/.new /sluice-out/seen; sleep 0.05; done'
    await stage.create('reader', script, { volumeMounts }, { volumes })
    await expect
      .poll(() => stage.events('reader'))
      .toContainEqual('FailedMount: MountVolume.SetUp failed for volume "conf" : configmap "c" not found')
    const ref = { name: 'c', namespace: 'default' }
    await stage.client.create(configMapKind, { metadata: ref, data: { a: 'first' } })
    await untilWritten('seen', 'first')
    await stage.client.patch(configMapKind, ref, { data: { a: 'second' } })
    await untilWritten('seen', 'second')
    expect(statusOf(await stage.pod('reader'))?.restartCount).toBe(0)
  })

  it('is given its labels as they change, and a token of its service account', async () => {
    const sources = [
      { serviceAccountToken: { path: 'token', audience: 'api', expirationSeconds: 600 } },
      { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
    ]
    const volumes = [{ name: 'info', projected: { sources } }, ...claim.volumes]
    const volumeMounts = [{ name: 'info', mountPath: '/sluice-info' }, ...mounted.volumeMounts]
    const script =
      'cp /sluice-info/token /sluice-out/token; until grep -q new /sluice-info/labels; do sleep 0.05; done; cp /sluice-info/labels /sluice-out/labels'
    await stage.create('curious', script, { volumeMounts }, { volumes, restartPolicy: 'Never' })
    await untilWritten('token', 'curious/api/600')
    await stage.client.patch(
      podKind,
      { name: 'curious', namespace: 'default' },
      { metadata: { labels: { is: 'new' } } },
    )
    await untilWritten('labels', 'is="new"')
    expect(statusOf(await stage.pod('curious'))?.restartCount).toBe(0)
  })

  it('is ready when its command says so, and restarted when its command does not', async () => {
    const readinessProbe = { exec: { command: ['sh', '-c', 'test -e /sluice-out/ready'] }, periodSeconds: 1 }
    await stage.create('probed', `touch /sluice-out/ready; ${forever}`, { readinessProbe, ...mounted }, claim)
    await stage.until('probed', isPodReady)
    const livenessProbe = {
      exec: { command: ['sh', '-c', 'echo sick; exit 1'] },
      periodSeconds: 1,
      failureThreshold: 1,
    }
    const spec = { terminationGracePeriodSeconds: 1 }
    await stage.create('sick', forever, { livenessProbe }, spec)
    await stage.until('sick', (pod) => statusOf(pod)?.restartCount === 1)
    await expect
      .poll(() => stage.events('sick'))
      .toContainEqual('Killing: Container main failed liveness probe, will be restarted')
  })

  it('gets as long to end as the probe says that gives it up', async () => {
    const failing = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 }
    const livenessProbe = { ...failing, terminationGracePeriodSeconds: 1 }
    const stubborn = `trap '' TERM; ${forever}`
    await stage.create('stubborn', stubborn, { livenessProbe }, { terminationGracePeriodSeconds: 3600 })
    const pod = await stage.until('stubborn', (each) => statusOf(each)?.restartCount === 1)
    expect(statusOf(pod)?.lastState?.terminated?.exitCode).toBe(137)
    await stage.delete('stubborn', 0)
  })

  it('runs its hooks: after the start before it is ready, and before it is asked to end', async () => {
    const script = `trap 'echo term >>/sluice-out/log; exit 0' TERM; while :; do sleep 0.05; done`
    const lifecycle = {
      postStart: { exec: { command: ['sh', '-c', 'sleep 0.2; echo start >>/sluice-out/log'] } },
      preStop: { exec: { command: ['sh', '-c', 'sleep 0.2; echo stop >>/sluice-out/log'] } },
    }
    await stage.create('hooked', script, { lifecycle, ...mounted }, claim)
    await stage.until('hooked', isPodReady)
    expect(written('log')).toBe('start')
    await stage.delete('hooked', 10)
    await stage.untilGone('hooked')
    expect(written('log')).toBe('start\nstop\nterm')
  })

  it('does not let a preStop hook outlast the grace', async () => {
    const lifecycle = { preStop: { sleep: { seconds: 3600 } } }
    await stage.create('slow', forever, { lifecycle })
    await stage.until('slow', isRunning)
    await stage.delete('slow', 1)
    // The hook would take an hour.
    await expect(stage.untilGone('slow')).resolves.toBeUndefined()
  })

  it('is restarted when its postStart hook fails', async () => {
    const lifecycle = { postStart: { exec: { command: ['false'] } } }
    await stage.create('broken', forever, { lifecycle }, { terminationGracePeriodSeconds: 1 })
    await stage.until('broken', (pod) => (statusOf(pod)?.restartCount ?? 0) > 0)
    await expect.poll(async () => (await stage.events('broken')).join('\n')).toContain('FailedPostStartHook')
    expect(isPodReady(await stage.pod('broken'))).toBe(false)
  })

  it('has its sidecars run from before to after its own containers', async () => {
    const note = (text: string) => `echo ${text} >>/sluice-out/log`
    const sidecar = {
      name: 'side',
      image: 'r/sh',
      restartPolicy: 'Always',
      args: [`${note('side up')}; trap '${note('side down')}; exit 0' TERM; while :; do sleep 0.05; done`],
      startupProbe: { exec: { command: ['test', '-e', '/sluice-out/log'] }, periodSeconds: 1 },
      ...mounted,
    }
    const init = { name: 'init', image: 'r/sh', args: [note('init')], ...mounted }
    await stage.create('job', note('main'), mounted, {
      ...claim,
      restartPolicy: 'Never',
      initContainers: [sidecar, init],
    })
    const done = await stage.until('job', (pod) => pod.status?.phase === 'Succeeded')
    expect(written('log')).toBe('side up\ninit\nmain\nside down')
    expect(statusOf(done, 'side')?.state?.terminated?.exitCode).toBe(0)
  })

  it('fails for good when its program is not there and it is not to be tried again', async () => {
    await stage.create('typo', '', { command: ['/no/such/program'] }, { restartPolicy: 'Never' })
    const pod = await stage.until('typo', ({ status }) => status?.phase === 'Failed')
    const { exitCode, reason, message } = statusOf(pod)?.state?.terminated ?? {}
    expect({ exitCode, reason }).toEqual({ exitCode: 128, reason: 'StartError' })
    expect(message).toContain('/no/such/program')
  })

  it('is told what it was that ended it', async () => {
    const container = { terminationMessagePolicy: 'FallbackToLogsOnError' }
    await stage.create('dies', 'echo loading; echo no such model; exit 3', container, { restartPolicy: 'Never' })
    const failed = await stage.until('dies', (pod) => pod.status?.phase === 'Failed')
    expect(statusOf(failed)?.state?.terminated).toMatchObject({ exitCode: 3, message: 'loading\nno such model' })
  })

  it('is ready only when those it named as gates agree, and keeps what they say', async () => {
    await stage.create('gated', forever, {}, { readinessGates: [{ conditionType: 'example.com/Ready' }] })
    const held = await stage.until('gated', isRunning)
    expect(isPodReady(held)).toBe(false)
    const conditions = [...(held.status?.conditions ?? []), { type: 'example.com/Ready', status: 'True' as const }]
    const { resourceVersion: _version, ...metadata } = held.metadata
    await stage.client.updateStatus(podKind, { ...held, metadata, status: { ...held.status, conditions } })
    const ready = await stage.until('gated', isPodReady)
    expect(ready.status?.conditions?.map(({ type }) => type)).toContain('example.com/Ready')
  })

  it('runs in the way that its RuntimeClass names, if this node knows it, and says so if not', async () => {
    const runtimeClass = (name: string, handler: string) =>
      stage.client.create(runtimeClassKind, { metadata: { name }, handler })
    await runtimeClass('ours', 'sluice')
    await stage.create('plain', forever, {}, { runtimeClassName: 'ours' })
    await stage.until('plain', isRunning)
    await stage.create('boxed', forever, {}, { runtimeClassName: 'virtual' })
    await expect
      .poll(() => stage.events('boxed'))
      .toContainEqual('FailedCreatePodSandBox: Failed to create pod sandbox: RuntimeClass "virtual" not found')
    await runtimeClass('virtual', 'kata')
    const waiting = await stage.until('boxed', (pod) => JSON.stringify(pod.status).includes('kata'))
    expect(waiting.status?.phase).toBe('Pending')
    expect(statusOf(waiting)?.state?.waiting?.message).toContain('the only handler of this node is "sluice"')
  })
})

describe('the Node', () => {
  const conditionsOf = async () => {
    const node = await stage.client.get(nodeKind, { name: 'here' })
    return Object.fromEntries((node?.status?.conditions ?? []).map(({ type, status }) => [type, status]))
  }

  it('says what the machine has, keeps some of it, and how Pods run here', async () => {
    stage = await new AgentStage('paths').prepare()
    const node = await stage.client.get(nodeKind, { name: 'here' })
    const { capacity = {}, allocatable = {} } = node?.status ?? {}
    expect(Number.parseInt(allocatable['memory'] ?? '', 10)).toBeLessThan(Number.parseInt(capacity['memory'] ?? '', 10))
    expect(capacity['ephemeral-storage']).toMatch(/^\d+Ki$/)
    expect(node?.metadata.labels?.['sluice.dev/pod-isolation']).toBe('paths')
    expect(await conditionsOf()).toMatchObject({ PodsIsolated: 'False', MemoryPressure: 'False', Ready: 'True' })
  })

  it('says when it runs out of something', async () => {
    const readings = (folder: string) => ({ ...readMachine(folder), availableMemoryBytes: 1, freeInodes: 0, inodes: 9 })
    stage = await new AgentStage('paths', { readings }).prepare()
    expect(await conditionsOf()).toMatchObject({ MemoryPressure: 'True', DiskPressure: 'True', PIDPressure: 'False' })
  })
})
