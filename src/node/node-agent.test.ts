import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import type { ClusterClient } from '../cluster/cluster-client.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import type { Foresee } from '../cluster/foreseen.ts'
import { type Clock, systemClock } from '../foundation/clock.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { eventKind } from '../resources/event.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { isNodeReady, nodeKind } from '../resources/node.ts'
import { type Pod, isPodReady, podKind } from '../resources/pod.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { PodForesight } from '../platform/wake-foresight.ts'
import { declaredCards } from './cards/gpu-inventory.ts'
import { ImageStore } from './images/image-store.ts'
import { LogHub } from './logs/log-hub.ts'
import { NodeAgent } from './node-agent.ts'
import { processesMarked } from './processes/process-identity.ts'
import { ProcessRuntime } from './process-runtime.ts'

const image = 'registry.test/sluice/script:1'
const images = new ImageStore({ 'registry.test/sluice/script': { command: [process.execPath, '-e'] } })
const never = new AbortController().signal
const card = 'nvidia.com/gpu-l40s'
const serverScript = `require('http').createServer((q, r) => r.end(process.env.CUDA_VISIBLE_DEVICES)).listen(8000, process.env.POD_IP)`
const idleScript = 'setInterval(() => {}, 1000)'

/** A store that can be made slow for new objects. */
class SlowStore extends MemoryStore {
  writable = Promise.resolve()

  override async create(...object: Parameters<MemoryStore['create']>): ReturnType<MemoryStore['create']> {
    await this.writable
    return super.create(...object)
  }
}

let dataDir = ''
let store: SlowStore
let foreseePod: Foresee<Pod>
let client: EmbeddedClient
let agent: NodeAgent
let runtime: ProcessRuntime
let stopped = true
let sever = () => {}

function makeCluster(clock: Clock): void {
  store = new SlowStore()
  foreseePod = () => undefined
  const plugins = [new PodForesight((pod) => foreseePod(pod))]
  client = new EmbeddedClient(new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock, plugins }))
}

async function startAgent(clock: Clock = systemClock): Promise<void> {
  runtime = new ProcessRuntime({ dataDir, images, clock: systemClock, log: silentLogger, logHub: new LogHub() })
  const cards = declaredCards(`${card}=2`)
  const options = {
    name: 'here',
    client: severable(client),
    runtime,
    cards,
    clock,
    log: silentLogger,
    version: '0.1.0',
    stopGraceMs: 2000,
  }
  agent = new NodeAgent(options)
  stopped = false
  await agent.start(never)
}

async function stopAgent(): Promise<void> {
  if (stopped) return
  stopped = true
  await agent.stop(never)
  runtime.close()
}

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-agent-'))
  makeCluster(systemClock)
  await client.create(namespaceKind, { metadata: { name: 'default' } })
})

afterEach(async () => {
  await stopAgent()
  const left = processesMarked(`SLUICE_NODE_ID=${runtime.nodeId}`)
  rmSync(dataDir, { recursive: true, force: true })
  if (left.length > 0) throw new Error(`processes are left: ${left.map(({ pid }) => pid).join(', ')}`)
})

function createPod(
  name: string,
  script: string,
  container: Record<string, unknown> = {},
  spec: Record<string, unknown> = {},
) {
  return client.create(podKind, {
    metadata: { name, namespace: 'default' },
    spec: { nodeName: 'here', containers: [{ name: 'main', image, args: [script], ...container }], ...spec },
  })
}

async function podNow(name: string): Promise<Pod> {
  const pod = await client.get(podKind, { namespace: 'default', name })
  if (!pod) throw new Error(`no Pod ${name}`)
  return pod
}

/** Waits until the Pod, as a user sees it, is as wanted. */
function until(name: string, holds: (pod: Pod) => boolean, clock?: FakeClock): Promise<Pod> {
  return expect
    .poll(
      async () => {
        await clock?.advance(0)
        const pod = await podNow(name)
        return holds(pod) ? 'holds' : JSON.stringify(pod.status)
      },
      { timeout: 20_000, interval: 20 },
    )
    .toBe('holds')
    .then(() => podNow(name))
}

const state = (pod: Pod) => pod.status?.containerStatuses?.[0]?.state
const pidOf = (pod: Pod) => pod.status?.containerStatuses?.[0]?.containerID

async function eventReasons(name: string): Promise<string[]> {
  const { items } = await client.list(eventKind, { namespace: 'default' })
  return items.filter(({ involvedObject }) => involvedObject.name === name).map(({ reason = '' }) => reason)
}

function fetchText(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      response.setEncoding('utf8')
      let text = ''
      response.on('data', (chunk: string) => (text += chunk)).on('end', () => resolve(text))
    }).on('error', reject)
  })
}

const httpPod = {
  ports: [{ name: 'http', containerPort: 8000 }],
  readinessProbe: { httpGet: { path: '/', port: 'http' } },
}

describe('NodeAgent', () => {
  it('registers the machine with its cards, and says that they are simulated', async () => {
    await startAgent()
    const node = await client.get(nodeKind, { name: 'here' })
    expect(node && isNodeReady(node)).toBe(true)
    expect(node?.status?.allocatable).toMatchObject({ [card]: '2', pods: '250' })
    expect(node?.metadata.labels).toMatchObject({
      'sluice.dev/simulated-cards': 'true',
      'kubernetes.io/hostname': 'here',
    })
    expect(node?.status?.nodeInfo?.kubeletVersion).toBe('v1.34.0+sluice.0.1.0')
    await stopAgent()
    const after = await client.get(nodeKind, { name: 'here' })
    expect(after && isNodeReady(after)).toBe(false)
  })

  it('runs a Pod on an address and with cards of its own until it is deleted', async () => {
    await startAgent()
    const limits = { resources: { limits: { [card]: '1' } } }
    await createPod('one', serverScript, { ...httpPod, ...limits })
    await createPod('two', serverScript, { ...httpPod, ...limits })
    const [one, two] = [await until('one', isPodReady), await until('two', isPodReady)]
    expect(one.status).toMatchObject({ phase: 'Running', hostIP: '127.0.0.1' })
    expect(one.status?.podIP).toMatch(/^127\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./)
    expect(one.status?.podIP).not.toBe(two.status?.podIP)
    const answers = [
      await fetchText(`http://${one.status?.podIP}:8000/`),
      await fetchText(`http://${two.status?.podIP}:8000/`),
    ]
    expect(answers.sort()).toEqual(['0', '1'])
    expect(agent.heldCards).toBe(2)

    await client.delete(podKind, { namespace: 'default', name: 'one' })
    await expect.poll(() => client.get(podKind, { namespace: 'default', name: 'one' })).toBeUndefined()
    expect(processesMarked(`SLUICE_POD_UID=${one.metadata.uid}`)).toEqual([])
    expect(agent.heldCards).toBe(1)
    await expect.poll(() => eventReasons('one')).toEqual(expect.arrayContaining(['Started', 'Killing']))
  })

  it('gives a card on only when the process that had it is gone, though the Pod was deleted by force', async () => {
    await startAgent()
    const both = { resources: { limits: { [card]: '2' } } }
    await createPod('stubborn', `process.on('SIGTERM', () => {}); ${idleScript}`, both)
    const before = await until('stubborn', (pod) => pod.status?.phase === 'Running')
    await client.delete(podKind, { namespace: 'default', name: 'stubborn' }, { graceSeconds: 0 })
    await createPod('next', idleScript, both)
    await until('next', (pod) => pod.status?.phase === 'Running')
    expect(processesMarked(`SLUICE_POD_UID=${before.metadata.uid}`)).toEqual([])
  })

  it('says what is wrong with an image it does not know', async () => {
    await startAgent()
    await createPod('odd', '', { image: 'registry.test/other:1' })
    const pod = await until('odd', (candidate) => state(candidate)?.waiting?.reason === 'ErrImagePull')
    expect(state(pod)?.waiting?.message).toContain('registry.test/sluice/script')
  })

  it('refuses by name what it cannot do', async () => {
    await startAgent()
    await createPod('host', '', {}, { volumes: [{ name: 'etc', hostPath: { path: '/etc' } }] })
    const pod = await until('host', (candidate) => candidate.status?.phase === 'Failed')
    expect(pod.status).toMatchObject({
      reason: 'UnsupportedPod',
      message: expect.stringContaining('hostPath') as string,
    })
  })

  it('runs init containers in order before the others, and a Pod that finishes', async () => {
    await startAgent()
    const init = (name: string) => ({ name, image, args: [`console.log('${name}')`] })
    await createPod('job', '', {}, { restartPolicy: 'Never', initContainers: [init('a'), init('b')] })
    const pod = await until('job', (candidate) => candidate.status?.phase === 'Succeeded')
    expect(state(pod)?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' })
    expect(pod.status?.conditions).toEqual(
      expect.arrayContaining([expect.objectContaining({ type: 'Initialized', status: 'True' })]),
    )
  })

  it('starts a Pod that is being bound to it, and keeps it when it is', async () => {
    await startAgent()
    const pod = await createPod('early', idleScript, {}, { nodeName: undefined })
    agent.foresee({ ...pod, spec: { ...pod.spec, nodeName: 'here' } })
    const processes = () => processesMarked(`SLUICE_POD_UID=${pod.metadata.uid}`).map(({ pid }) => pid)
    await expect.poll(processes).toHaveLength(1)
    const started = processes()
    await client.patch(podKind, { namespace: 'default', name: 'early' }, { spec: { nodeName: 'here' } })
    await until('early', (candidate) => state(candidate)?.running !== undefined)
    expect(processes()).toEqual(started)
    await client.delete(podKind, { namespace: 'default', name: 'early' }, { graceSeconds: 0 })
    await expect.poll(processes).toEqual([])
  })

  it('says what became of a Pod that it was told of before the Pod was there, once it is', async () => {
    await startAgent()
    const writing = Promise.withResolvers<void>()
    store.writable = writing.promise
    foreseePod = (pod) => agent.foresee(pod)
    const created = [
      createPod('odd', '', { image: 'registry.test/other:1' }),
      createPod('host', '', {}, { volumes: [{ name: 'etc', hostPath: { path: '/etc' } }] }),
      createPod('early', idleScript),
    ]
    await expect.poll(() => processesMarked(`SLUICE_NODE_ID=${runtime.nodeId}`)).toHaveLength(1)
    await expect(podNow('early')).rejects.toThrow('no Pod early')
    writing.resolve()
    const [, , early] = await Promise.all(created)
    await until('odd', (candidate) => state(candidate)?.waiting?.reason === 'ErrImagePull')
    await until('host', (candidate) => candidate.status?.phase === 'Failed')
    await until('early', (candidate) => state(candidate)?.running !== undefined)
    expect(processesMarked(`SLUICE_POD_UID=${early?.metadata.uid}`)).toHaveLength(1)
  })

  it('restarts a container that its liveness probe gives up', async () => {
    await startAgent()
    const livenessProbe = { tcpSocket: { port: 9 }, periodSeconds: 1, failureThreshold: 1 }
    await createPod('sick', idleScript, { livenessProbe })
    const pod = await until('sick', (candidate) => candidate.status?.containerStatuses?.[0]?.restartCount === 1)
    expect(pod.status?.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({ signal: 15 })
  })

  it('restarts what crashes at once, then after 10 s, then after 20 s', async () => {
    const clock = new FakeClock()
    await startAgent(clock)
    await createPod('crash', 'process.exit(2)')
    const waiting = (seconds: number) => (pod: Pod) =>
      state(pod)?.waiting?.message?.includes(`back-off ${seconds}s`) ?? false
    const first = await until('crash', waiting(10), clock)
    expect(first.status?.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 2 } },
    })
    expect(state(first)?.waiting?.reason).toBe('CrashLoopBackOff')
    await clock.advance(9_000)
    expect((await podNow('crash')).status?.containerStatuses?.[0]?.restartCount).toBe(1)
    await clock.advance(1_000)
    const second = await until('crash', waiting(20), clock)
    expect(second.status?.containerStatuses?.[0]?.restartCount).toBe(2)
    // The agent's own clock drives its stop as well.
    await stopAgent()
  })

  it('leaves Pods on a stop so that the next start runs them again', async () => {
    await startAgent()
    await createPod('web', serverScript, httpPod)
    const before = await until('web', isPodReady)
    await stopAgent()
    expect(processesMarked(`SLUICE_POD_UID=${before.metadata.uid}`)).toEqual([])
    const left = await podNow('web')
    expect(left.status).toMatchObject({ phase: 'Pending' })
    expect(left.status?.podIP).toBeUndefined()
    expect(isPodReady(left)).toBe(false)
    await startAgent()
    const again = await until('web', isPodReady)
    expect(pidOf(again)).not.toBe(pidOf(before))
  })

  it('adopts what ran through a crash without restarting it', async () => {
    await startAgent()
    await createPod('kept', serverScript, { ...httpPod, resources: { limits: { [card]: '1' } } })
    const before = await until('kept', isPodReady)
    const crashed = crash()
    await startAgent()
    expect(agent.heldCards).toBe(1)
    const after = await podNow('kept')
    expect(pidOf(after)).toBe(pidOf(before))
    expect(isPodReady(after)).toBe(true)
    expect(await fetchText(`http://${before.status?.podIP}:8000/`)).toBe('0')
    await stopAgent()
    await crashed.stop(never).catch(() => {})
  })

  it('restarts what died while nobody watched, and says that its exit code is not known', async () => {
    await startAgent()
    await createPod('died', idleScript)
    const before = await until('died', (pod) => pod.status?.phase === 'Running')
    const crashed = crash()
    process.kill(Number(pidOf(before)?.replace('process://', '')), 'SIGKILL')
    await expect.poll(() => processesMarked(`SLUICE_POD_UID=${before.metadata.uid}`)).toEqual([])
    await startAgent()
    const after = await until('died', (pod) => pidOf(pod) !== undefined && pidOf(pod) !== pidOf(before))
    expect(after.status?.containerStatuses?.[0]).toMatchObject({ restartCount: 1 })
    await stopAgent()
    await crashed.stop(never).catch(() => {})
  })

  it('ends what has no Pod any more', async () => {
    await startAgent()
    await createPod('lost', idleScript, { resources: { limits: { [card]: '1' } } })
    const lost = await until('lost', (pod) => pod.status?.phase === 'Running')
    const crashed = crash()
    // Another, empty cluster: this one's agent has never heard of the Pod.
    makeCluster(systemClock)
    await startAgent()
    expect(processesMarked(`SLUICE_POD_UID=${lost.metadata.uid}`)).toEqual([])
    expect(agent.heldCards).toBe(0)
    await crashed.stop(never).catch(() => {})
  })
})

/** As if the agent had been killed: its object still exists, but it reaches neither the cluster nor the runtime. */
function crash(): NodeAgent {
  runtime.close()
  sever()
  return agent
}

function severable(target: EmbeddedClient): ClusterClient {
  let severed = false
  sever = () => (severed = true)
  return new Proxy<EmbeddedClient>(target, {
    get(object, property) {
      if (severed) throw new Error('this agent is dead')
      const value: unknown = Reflect.get(object, property)
      return typeof value === 'function' ? value.bind(object) : value
    },
  })
}
