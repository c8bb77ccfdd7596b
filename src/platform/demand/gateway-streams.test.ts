import { randomBytes } from 'node:crypto'
import * as net from 'node:net'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import type { ObjectCache, ObjectChange } from '../../cluster/informer.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import type { ObjectRef } from '../../resources/kubernetes-object.ts'
import { type Pod, podSchema } from '../../resources/pod.ts'
import type { ToldPool } from './demand-teller.ts'
import { DemandListener } from './demand-listener.ts'
import { unheardMs } from './demand-frame.ts'
import { type GatewayAddress, listenWithKey } from './gateway-stream.ts'
import { GatewayStreams } from './gateway-streams.ts'
import { JoinedDemand } from './joined-demand.ts'

class PodCache implements ObjectCache<Pod> {
  readonly synced = true
  readonly #pods = new Map<string, Pod>()
  readonly #listeners = new Set<(change: ObjectChange<Pod>) => void>()

  get(ref: ObjectRef) {
    return this.#pods.get(ref.name)
  }
  list() {
    return [...this.#pods.values()]
  }
  onChange(listener: (change: ObjectChange<Pod>) => void) {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  put(pod: Pod) {
    this.#pods.set(pod.metadata.name, pod)
    for (const listener of this.#listeners) listener({ type: 'updated', object: pod })
  }
  remove(name: string) {
    const pod = this.#pods.get(name)
    this.#pods.delete(name)
    if (pod) for (const listener of this.#listeners) listener({ type: 'deleted', object: pod })
  }
}

function gatewayPod(name: string, { host, port }: GatewayAddress, more: object = {}): Pod {
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'sluice', labels: { 'sluice.dev/role': 'gateway' } },
    spec: { containers: [{ name: 'gateway', image: 'x', ports: [{ name: 'demand', containerPort: port }] }] },
    status: {
      phase: 'Running',
      podIP: host,
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [
        { name: 'gateway', ready: true, restartCount: 0, image: 'x', imageID: '', state: { running: {} } },
      ],
      ...more,
    },
  })
}

/** A pool with one model whose waiters a test sets. */
class OneModelPool implements ToldPool {
  waiting = 0
  readonly #listeners = new Set<(model: string) => void>()
  sample() {
    return { active: 0, waiting: this.waiting }
  }
  models() {
    return ['m']
  }
  lastActiveAt() {
    return undefined
  }
  inFlightByEndpoint() {
    return new Map<string, number>()
  }
  openEndpoints() {
    return []
  }
  onFirstWaiter(callback: (model: string) => void) {
    this.#listeners.add(callback)
    return () => this.#listeners.delete(callback)
  }
  wait() {
    this.waiting += 1
    for (const listener of this.#listeners) listener('m')
  }
}

async function gateway(key: Buffer | undefined, pool = new OneModelPool()) {
  const options = { host: '127.0.0.1', port: 0, pool, key: () => key, clock: systemClock, log: silentLogger }
  const listener = new DemandListener({ ...options, metrics: new Metrics() })
  await listener.start()
  onTestFinished(() => listener.stop())
  return { pool, listener, address: { host: '127.0.0.1', port: listener.port } }
}

describe('GatewayStreams', () => {
  const running: GatewayStreams[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map((streams) => streams.stop()))
  })

  function listen(key: Buffer | undefined, clock = systemClock) {
    const pods = new PodCache()
    const demand = new JoinedDemand(() => clock.now())
    const options = { namespace: 'sluice', pods, demand, clock, log: silentLogger }
    const streams = new GatewayStreams({ ...options, listen: listenWithKey(() => key) })
    running.push(streams)
    return { pods, demand, streams }
  }

  const firstWaiter = (demand: JoinedDemand) =>
    new Promise<string>((resolve) => {
      const stop = demand.onFirstWaiter((model) => {
        stop()
        resolve(model)
      })
    })

  const known = async (demand: JoinedDemand, gateways: number) => {
    await expect.poll(() => demand.gateways - demand.unknownGateways, { timeout: 30_000, interval: 5 }).toBe(gateways)
  }

  it('hears first waiters of every gateway, those that come later too', async () => {
    const key = randomBytes(32)
    const [one, two] = [await gateway(key), await gateway(key)]
    const { pods, demand, streams } = listen(key)
    pods.put(gatewayPod('one', one.address))
    streams.start()
    expect(demand.sample('m')?.isPartial).toBe(true)
    await known(demand, 1)
    expect(one.listener.current).toBeUndefined()
    const heard = firstWaiter(demand)
    one.pool.wait()
    expect(await heard).toBe('m')
    pods.put(gatewayPod('two', two.address))
    await known(demand, 2)
    const heardOfTwo = firstWaiter(demand)
    two.pool.wait()
    await heardOfTwo
    expect(demand.sample('m')).toEqual({ active: 0, waiting: 2, isPartial: false })
  })

  it('lets nobody in without the key, and tells nothing to who has another', async () => {
    const { address, listener } = await gateway(randomBytes(32))
    const { pods, demand, streams } = listen(randomBytes(32))
    pods.put(gatewayPod('one', address))
    streams.start()
    const plain = await new Promise<string>((resolve, reject) => {
      const socket = net.connect(address.port, address.host, () => socket.write('GET / HTTP/1.1\r\n\r\n'))
      let text = ''
      socket.on('data', (chunk) => (text += chunk.toString('latin1')))
      socket.on('close', () => resolve(text))
      socket.on('error', reject)
    })
    expect(plain).not.toContain('models')
    expect(listener.current).toContain('no controller listens')
    expect(demand.sample('m')).toEqual({ active: 0, waiting: 0, isPartial: true })
  })

  it('counts no gateway that does not run, and forgets one that is gone', async () => {
    const key = randomBytes(32)
    const { address } = await gateway(key)
    const { pods, demand, streams } = listen(key)
    pods.put(gatewayPod('pending', address, { podIP: undefined }))
    pods.put(gatewayPod('crashing', address, { containerStatuses: [] }))
    pods.put(gatewayPod('finished', address, { phase: 'Failed' }))
    pods.put({ ...gatewayPod('foreign', address), metadata: { name: 'foreign', namespace: 'other' } })
    streams.start()
    expect(demand.gateways).toBe(0)
    expect(demand.sample('m')).toEqual({ active: 0, waiting: 0, isPartial: false })
    pods.put(gatewayPod('one', address))
    await known(demand, 1)
    pods.remove('one')
    expect(demand.gateways).toBe(0)
  })

  it('takes silence for a broken stream', async () => {
    const clock = new FakeClock()
    const pods = new PodCache()
    const demand = new JoinedDemand(() => clock.now())
    let opened = 0
    const streams = new GatewayStreams({
      namespace: 'sluice',
      pods,
      demand,
      clock,
      log: silentLogger,
      async *listen(_address, signal) {
        opened += 1
        yield { known: true, whole: true, models: {}, gone: [] }
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
        throw new Error('aborted')
      },
    })
    running.push(streams)
    pods.put(gatewayPod('one', { host: '10.0.0.1', port: 1 }))
    streams.start()
    await clock.advance(unheardMs - 1)
    expect(demand.unknownGateways).toBe(0)
    await clock.advance(1)
    expect(demand.unknownGateways).toBe(1)
    await clock.advance(1_000)
    expect(opened).toBeGreaterThan(1)
    expect(demand.unknownGateways).toBe(0)
  })

  /** Gateways that say once that they have no requests, for as long as `speak` holds. */
  function speaking(speak: () => boolean) {
    const clock = new FakeClock()
    const pods = new PodCache()
    const demand = new JoinedDemand(() => clock.now())
    const streams = new GatewayStreams({
      namespace: 'sluice',
      pods,
      demand,
      clock,
      log: silentLogger,
      async *listen(_address, signal) {
        if (speak()) yield { known: true, whole: true, models: {}, gone: [] }
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
        throw new Error('aborted')
      },
    })
    running.push(streams)
    return { clock, pods, demand, streams }
  }

  it('begins with nothing when it leads again: what it heard long ago must not put a Model to sleep', async () => {
    let isReachable = true
    const { clock, pods, demand, streams } = speaking(() => isReachable)
    pods.put(gatewayPod('one', { host: '10.0.0.1', port: 1 }))
    streams.start()
    await clock.advance(1)
    expect(demand.sample('m')?.isPartial).toBe(false)
    await streams.stop()
    expect(demand.sample('m')).toBeUndefined()
    isReachable = false
    streams.start()
    await clock.advance(1)
    expect(demand.sample('m')?.isPartial).toBe(true)
  })

  it('takes no requests for no demand while Kubernetes says that no gateway is ready', async () => {
    const { clock, pods, demand, streams } = speaking(() => true)
    const unready = { conditions: [{ type: 'Ready', status: 'False' }] }
    pods.put(gatewayPod('one', { host: '10.0.0.1', port: 1 }))
    pods.put(gatewayPod('two', { host: '10.0.0.2', port: 1 }))
    streams.start()
    await clock.advance(1)
    pods.put(gatewayPod('one', { host: '10.0.0.1', port: 1 }, unready))
    expect(demand.sample('m')?.isPartial).toBe(false)
    pods.put(gatewayPod('two', { host: '10.0.0.2', port: 1 }, unready))
    expect([demand.unknownGateways, demand.sample('m')?.isPartial]).toEqual([0, true])
    pods.put(gatewayPod('one', { host: '10.0.0.1', port: 1 }))
    expect(demand.sample('m')?.isPartial).toBe(false)
  })

  it('knows nothing of a gateway at its new address before it was heard there', async () => {
    let isReachable = true
    const { clock, pods, demand, streams } = speaking(() => isReachable)
    pods.put(gatewayPod('one', { host: '10.0.0.1', port: 1 }))
    streams.start()
    await clock.advance(1)
    expect(demand.unknownGateways).toBe(0)
    isReachable = false
    pods.put(gatewayPod('one', { host: '10.0.0.2', port: 1 }))
    await clock.advance(1)
    expect(demand.unknownGateways).toBe(1)
  })
})
