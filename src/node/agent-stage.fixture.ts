import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import type { ClusterClient } from '../cluster/cluster-client.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { systemClock } from '../foundation/clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { eventKind } from '../resources/event.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { declaredCards } from './cards/gpu-inventory.ts'
import { ImageStore } from './images/image-store.ts'
import type { IsolationChoice } from './isolation/detect-isolation.ts'
import { LogHub } from './logs/log-hub.ts'
import { NodeAgent, type NodeAgentOptions } from './node-agent.ts'
import { processesMarked } from './processes/process-identity.ts'
import { ProcessRuntime } from './process-runtime.ts'

const patience = { timeout: 15_000, interval: 20 }
const never = new AbortController().signal
export const card = 'nvidia.com/gpu-l40s'

/**
 * A cluster in memory and a node agent on this machine, which can be stopped, or lost as if it had been killed, and
 * then started again.
 */
export class AgentStage {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'sluice-agents-'))
  readonly api = new ClusterApi({
    store: new MemoryStore(),
    kinds: [...coreKinds, ...customKinds],
    clock: systemClock,
  })
  readonly client = new EmbeddedClient(this.api)
  readonly hub = new LogHub()
  /** When true, the cluster refuses every status that the node writes. */
  muted = false
  readonly #mode: IsolationChoice
  readonly #options: () => Partial<NodeAgentOptions>
  readonly #lost: NodeAgent[] = []
  #agent: NodeAgent | undefined
  #runtime: ProcessRuntime | undefined
  #sever = () => {}

  constructor(mode: IsolationChoice, options: Partial<NodeAgentOptions> | (() => Partial<NodeAgentOptions>) = {}) {
    this.#mode = mode
    this.#options = typeof options === 'function' ? options : () => options
  }

  get agent(): NodeAgent {
    if (!this.#agent) throw new Error('no agent')
    return this.#agent
  }

  get runtime(): ProcessRuntime {
    if (!this.#runtime) throw new Error('no runtime')
    return this.#runtime
  }

  get nodeMark(): string {
    return `SLUICE_NODE_ID=${this.#runtime?.nodeId}`
  }

  async prepare(): Promise<this> {
    await this.client.create(namespaceKind, { metadata: { name: 'default' } })
    await this.start()
    return this
  }

  async start(): Promise<void> {
    const images = new ImageStore({ 'r/sh': { command: ['/bin/sh', '-c'] } })
    const common = { clock: systemClock, log: silentLogger }
    this.#runtime = new ProcessRuntime({
      ...common,
      dataDir: this.dataDir,
      images,
      logHub: this.hub,
      isolation: this.#mode,
    })
    this.#agent = new NodeAgent({
      ...common,
      name: 'here',
      client: this.#severable(),
      runtime: this.#runtime,
      cards: declaredCards(`${card}=4`),
      version: '0.1.0',
      stopGraceMs: 1000,
      ...this.#options(),
    })
    await this.#agent.start(never)
  }

  async stop(): Promise<void> {
    await this.#agent?.stop(never)
    this.#runtime?.close()
    this.#agent = undefined
  }

  /** As if the agent had been killed: its object still exists, but it reaches neither the cluster nor the runtime. */
  lose(): void {
    this.#runtime?.close()
    this.#sever()
    if (this.#agent) this.#lost.push(this.#agent)
    this.#agent = undefined
  }

  async close(): Promise<void> {
    await this.stop()
    for (const agent of this.#lost) await agent.stop(never).catch(() => {})
    const left = processesMarked(this.nodeMark)
    // A lost agent's last write may still be under way, which a killed program's could not be.
    rmSync(this.dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    if (left.length > 0) throw new Error(`processes are left: ${left.map(({ pid }) => pid).join(', ')}`)
  }

  create(
    name: string,
    script: string,
    container: Record<string, unknown> = {},
    spec: Record<string, unknown> = {},
  ): Promise<Pod> {
    const main = { name: 'main', image: 'r/sh', args: [script], ...container }
    return this.client.create(podKind, {
      metadata: { name, namespace: 'default' },
      spec: { nodeName: 'here', containers: [main], ...spec },
    })
  }

  /** Adds an ephemeral container, as `kubectl debug` does. */
  async look(name: string, script: string, container: Record<string, unknown> = {}): Promise<void> {
    const added = { name: 'looker', image: 'r/sh', args: [script], ...container }
    await this.api.patch(
      podKind,
      { namespace: 'default', name },
      (pod) => {
        const { spec } = podKind.schema.parse(pod)
        return { ...pod, spec: { ...spec, ephemeralContainers: [...(spec.ephemeralContainers ?? []), added] } }
      },
      {},
      'ephemeralcontainers',
    )
  }

  delete(name: string, graceSeconds?: number): Promise<void> {
    return this.client.delete(podKind, { namespace: 'default', name }, { graceSeconds })
  }

  async pod(name: string): Promise<Pod> {
    const pod = await this.client.get(podKind, { namespace: 'default', name })
    if (!pod) throw new Error(`no Pod ${name}`)
    return pod
  }

  /** Waits until the Pod, as a user sees it, is as wanted. */
  async until(name: string, holds: (pod: Pod) => boolean): Promise<Pod> {
    const look = async () => {
      const pod = await this.pod(name)
      return holds(pod) ? 'holds' : JSON.stringify(pod.status)
    }
    await vi
      .waitUntil(async () => (await look()) === 'holds', patience)
      .catch(async () => {
        throw new Error(`${name} does not get there: ${await look()}`)
      })
    return this.pod(name)
  }

  async untilGone(name: string): Promise<void> {
    const look = () => this.client.get(podKind, { namespace: 'default', name })
    await vi.waitUntil(async () => (await look()) === undefined, patience)
  }

  async events(name: string): Promise<string[]> {
    const { items } = await this.client.list(eventKind, { namespace: 'default' })
    return items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ reason, message }) => `${reason}: ${message}`)
  }

  #severable(): ClusterClient {
    let severed = false
    const isMuted = () => this.muted
    this.#sever = () => (severed = true)
    return new Proxy<EmbeddedClient>(this.client, {
      get(object, property) {
        if (severed) throw new Error('this agent is dead')
        if (isMuted() && property === 'changeStatus') return () => Promise.reject(new Error('nobody listens'))
        const value: unknown = Reflect.get(object, property)
        return typeof value === 'function' ? value.bind(object) : value
      },
    })
  }
}

export const statusOf = (pod: Pod, container = 'main') =>
  [
    ...(pod.status?.containerStatuses ?? []),
    ...(pod.status?.initContainerStatuses ?? []),
    ...(pod.status?.ephemeralContainerStatuses ?? []),
  ].find(({ name }) => name === container)

export const pidOf = (pod: Pod, container = 'main') =>
  Number(statusOf(pod, container)?.containerID?.replace('process://', ''))

export const isRunning = (pod: Pod) => pod.status?.phase === 'Running'
