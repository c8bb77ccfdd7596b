import * as http from 'node:http'
import { onTestFinished } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { AutoscaleLoop } from '../autoscaler/autoscale-loop.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { EventRecorder } from '../cluster/event-recorder.ts'
import { Informer } from '../cluster/informer.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import { ModelController } from '../operator/model-controller.ts'
import { builtInProfiles } from '../operator/resource-profile.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { refOf } from '../resources/kubernetes-object.ts'
import { type Model, modelKind } from '../resources/model.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { type Secret, secretKind } from '../resources/secret.ts'
import { isStatusError } from '../resources/status-error.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { PodPool } from '../traffic/pod-pool.ts'

const namespace = 'sluice'

/** Starts the engine behind a Pod, listening on a real socket. */
export type StartEngine = (pod: Pod, host: string) => Promise<{ stop(): void }>

/**
 * The real API, operator, autoscaler and traffic, with a fake node: Pods are ready at once, and when they are deleted,
 * they are gone at once, with everything they serve. The test moves the clock.
 */
export class ScalingStage {
  readonly clock = new FakeClock()
  readonly client: EmbeddedClient
  readonly models: Informer<Model>
  readonly pods: Informer<Pod>
  readonly secrets: Informer<Secret>
  readonly pool: PodPool
  readonly #stopping = new AbortController()
  readonly #running: Array<Promise<unknown>> = []
  readonly #startEngine: StartEngine
  readonly #engines = new Map<string, Promise<{ stop(): void }>>()
  #hosts = 0
  #autoscaler: AutoscaleLoop

  private constructor(startEngine: StartEngine) {
    this.#startEngine = startEngine
    const api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock: this.clock })
    this.client = new EmbeddedClient(api)
    const parts = { client: this.client, clock: this.clock, log: silentLogger }
    this.models = new Informer({ ...parts, kind: modelKind })
    this.pods = new Informer({ ...parts, kind: podKind })
    this.secrets = new Informer({ ...parts, kind: secretKind, scope: { namespace } })
    const caches = { pods: this.pods, models: this.models, secrets: this.secrets }
    this.pool = new PodPool({ ...parts, namespace, ...caches })
    this.#autoscaler = this.#newAutoscaler()
  }

  static async start(startEngine: StartEngine = () => Promise.resolve({ stop() {} })): Promise<ScalingStage> {
    const stage = new ScalingStage(startEngine)
    onTestFinished(() => stage.#stop())
    await stage.#run()
    return stage
  }

  async createModel(name: string, spec: Record<string, unknown>, annotations: Record<string, string> = {}) {
    const model = { url: `pvc://userdata/models/${name}`, engine: 'VLLM', resourceProfile: 'default:1', ...spec }
    await this.client.create(modelKind, { metadata: { name, namespace, annotations }, spec: model })
    await this.clock.advance(100)
  }

  /** As when the program is restarted. */
  async restartAutoscaler(): Promise<void> {
    await this.#autoscaler.stop()
    this.#autoscaler = this.#newAutoscaler()
    this.#autoscaler.start()
  }

  /** Moves the clock until the condition holds. */
  async until(what: string, holds: () => boolean): Promise<void> {
    for (let step = 0; step < 2_000; step++) {
      if (holds()) return
      await this.clock.advance(50)
    }
    throw new Error(`${what} did not happen in 100 s`)
  }

  isServing(podName: string): boolean {
    const pod = this.pods.get({ namespace, name: podName })
    return pod !== undefined && pod.metadata.deletionTimestamp === undefined && this.#engines.has(podName)
  }

  async #run(): Promise<void> {
    const { client, clock, models, pods, secrets } = this
    const { signal } = this.#stopping
    await client.create(namespaceKind, { metadata: { name: namespace } })
    this.#running.push(models.run(signal), pods.run(signal), secrets.run(signal))
    await Promise.all([models.whenSynced(), pods.whenSynced(), secrets.whenSynced()])
    pods.onChange(({ type, object }) => void this.#runPod(type === 'deleted' ? 'gone' : 'there', object))
    const parts = { client, clock, log: silentLogger }
    const controller = new ModelController({
      ...parts,
      models,
      pods,
      secrets,
      events: new EventRecorder({ ...parts, component: 'operator' }),
      files: { check: () => ({ state: 'present' }) },
      registry: () => 'registry.local-1.localhost',
      version: '0.1.0',
      profiles: () => ({ table: builtInProfiles, cardKinds: ['nvidia.com/gpu-l40s'] }),
      busy: (podName) => {
        const model = pods.get({ namespace, name: podName })?.metadata.labels?.['sluice.dev/model'] ?? ''
        return this.pool.inFlightByEndpoint(model).get(podName) ?? 0
      },
    })
    this.#running.push(controller.run(signal))
    this.#autoscaler.start()
  }

  #newAutoscaler(): AutoscaleLoop {
    const { client, clock, models, pool } = this
    const parts = { client, clock, log: silentLogger }
    const events = new EventRecorder({ ...parts, component: 'autoscaler' })
    const metrics = new Metrics()
    return new AutoscaleLoop({ ...parts, models, namespace, demand: pool, events, metrics, idleWindowMs: 600_000 })
  }

  async #runPod(news: 'there' | 'gone', pod: Pod): Promise<void> {
    const { name } = pod.metadata
    const isLeaving = pod.metadata.deletionTimestamp !== undefined
    if (news === 'gone' || isLeaving) {
      const engine = this.#engines.get(name)
      this.#engines.delete(name)
      const running = await engine
      running?.stop()
      if (isLeaving && news === 'there')
        await this.#ignoringGone(this.client.delete(podKind, refOf(pod), { graceSeconds: 0 }))
      return
    }
    if (this.#engines.has(name)) return
    const host = `127.66.${this.#hosts >> 8}.${(this.#hosts++ & 0xff) + 1}`
    this.#engines.set(name, this.#startEngine(pod, host))
    await this.#engines.get(name)
    const conditions = [{ type: 'Ready' as const, status: 'True' as const }]
    const bound = await this.#ignoringGone(this.client.patch(podKind, refOf(pod), { spec: { nodeName: 'node' } }))
    if (!bound) return
    await this.#ignoringGone(
      this.client.updateStatus(podKind, { ...bound, status: { phase: 'Running', podIP: host, conditions } }),
    )
  }

  async #ignoringGone<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work
    } catch (error) {
      if (isStatusError(error, 'NotFound', 'Conflict')) return undefined
      throw error
    }
  }

  async #stop(): Promise<void> {
    await this.#autoscaler.stop()
    this.pool.stop()
    this.#stopping.abort()
    await Promise.all(this.#running)
    for (const engine of this.#engines.values()) (await engine).stop()
  }
}

/** Engines on real sockets. Each begins an event stream for every request, and ends all streams when it is stopped. */
export function streamingEngines() {
  const streams = new Set<http.ServerResponse>()
  const start: StartEngine = async (pod, host) => {
    const server = http.createServer((request, response) => {
      request.resume()
      if (request.url === '/health') {
        response.end('ok')
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: {"pod":"${pod.metadata.name}"}\n\n`)
      streams.add(response)
    })
    const port = pod.spec.containers[0]?.ports?.[0]?.containerPort ?? 0
    await new Promise<void>((resolve) => server.listen(port, host, resolve))
    return {
      stop() {
        server.closeAllConnections()
        server.close()
      },
    }
  }
  const endAll = () => {
    for (const stream of streams) stream.end('data: [DONE]\n\n')
    streams.clear()
  }
  return { start, streams, endAll }
}
