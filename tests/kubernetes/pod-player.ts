import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import type { KubernetesClient } from '../../src/cluster/kubernetes-client.ts'
import { Informer } from '../../src/cluster/informer.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import { silentLogger } from '../../src/foundation/log.ts'
import { refOf } from '../../src/resources/kubernetes-object.ts'
import { modelLabel } from '../../src/resources/model-labels.ts'
import { nodeKind } from '../../src/resources/node.ts'
import { type Pod, podKind } from '../../src/resources/pod.ts'
import { isStatusError } from '../../src/resources/status-error.ts'
import type { ContractServer } from './contract-server.ts'

interface PlayedPod {
  readonly address: string
  readonly server: Server
}

/**
 * Plays the node where there is none: gives Pods of Models an address of the loopback range, listens there as their
 * engine, and says in their status that they are ready. A Pod that is deleted is gone when its engine has been closed.
 */
export class PodPlayer {
  readonly nodeName: string
  /** Requests that have reached an engine, by the name of its Pod. */
  readonly asked: string[] = []
  readonly #server: ContractServer
  readonly #namespace: string
  readonly #played = new Map<string, PlayedPod>()
  readonly #stop = new AbortController()
  readonly #steps = new Map<string, Promise<void>>()
  readonly #failures: unknown[] = []
  #running: Promise<void> = Promise.resolve()
  #held: PromiseWithResolvers<void> | undefined

  constructor(server: ContractServer, namespace: string) {
    this.#server = server
    this.#namespace = namespace
    this.nodeName = `played-${process.pid}`
  }

  async start(): Promise<void> {
    const { client } = this.#server
    await createCardNode(client, this.nodeName)
    const pods = new Informer({
      client,
      kind: podKind,
      scope: { namespace: this.#namespace },
      clock: systemClock,
      log: silentLogger,
    })
    pods.onChange(({ type, object }) => {
      const isOfModel = object.metadata.labels?.[modelLabel] !== undefined
      if (isOfModel && type !== 'deleted') this.#next(object)
    })
    this.#running = pods.run(this.#stop.signal)
    await pods.whenSynced(AbortSignal.timeout(30_000))
  }

  async stop(): Promise<void> {
    this.release()
    this.#stop.abort()
    await this.#running
    await Promise.all(this.#steps.values())
    for (const { server } of this.#played.values()) server.close().closeAllConnections()
    await this.#server.client.delete(nodeKind, { name: this.nodeName }).catch(() => {})
    if (this.#failures.length > 0) throw new AggregateError(this.#failures, 'a Pod could not be played')
  }

  /** From now on engines answer nothing. */
  hold(): void {
    this.#held ??= Promise.withResolvers()
  }

  release(): void {
    this.#held?.resolve()
    this.#held = undefined
  }

  /** What happens to one Pod happens in order. */
  #next(pod: Pod): void {
    const { uid = '' } = pod.metadata
    const step = (this.#steps.get(uid) ?? Promise.resolve())
      .then(() => (pod.metadata.deletionTimestamp === undefined ? this.#begin(pod, uid) : this.#end(pod, uid)))
      .catch((error: unknown) => {
        // It may have been deleted meanwhile.
        if (!isStatusError(error, 'NotFound', 'Conflict')) this.#failures.push(error)
      })
    this.#steps.set(uid, step)
  }

  async #begin(pod: Pod, uid: string): Promise<void> {
    if (this.#played.has(uid)) return
    const { name } = pod.metadata
    const port = pod.spec.containers[0]?.ports?.[0]?.containerPort ?? 0
    const number = this.#played.size + 1
    const address = `127.${100 + (process.pid % 100)}.${number >> 8}.${number & 255}`
    const server = createServer((request, response) => {
      const isQuestion = request.method === 'POST'
      if (isQuestion) this.asked.push(name)
      const answer = () => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ object: 'chat.completion', from: name, choices: [] }))
      }
      const allowed = (isQuestion && this.#held?.promise) || Promise.resolve()
      request.resume().on('end', () => void allowed.then(answer))
    }).listen(port, address)
    this.#played.set(uid, { address, server })
    await once(server, 'listening')
    const target = { apiVersion: 'v1', kind: 'Node', name: this.nodeName }
    const path = `/api/v1/namespaces/${this.#namespace}/pods/${name}`
    await this.#server.ok('POST', `${path}/binding`, { metadata: { name }, target })
    await this.#server.client.changeStatus(podKind, refOf(pod), (current) => ({
      ...current,
      status: { ...current.status, ...runningStatus(current, address) },
    }))
  }

  async #end(pod: Pod, uid: string): Promise<void> {
    this.#played.get(uid)?.server.close().closeAllConnections()
    await this.#server.client.delete(podKind, refOf(pod), { graceSeconds: 0, uid })
  }
}

/** What a kubelet says of a Pod whose containers are ready. */
export function runningStatus({ spec }: Pod, address: string): NonNullable<Pod['status']> {
  const startedAt = new Date().toISOString().replace(/\.\d+/, '')
  const types = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready']
  return {
    phase: 'Running',
    podIP: address,
    podIPs: [{ ip: address }],
    startTime: startedAt,
    conditions: types.map((type) => ({ type, status: 'True' as const, lastTransitionTime: startedAt })),
    containerStatuses: spec.containers.map(({ name, image = '' }) => ({
      name,
      image,
      imageID: '',
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt } },
    })),
  }
}

/** A Node with cards, as the device plugin and the kubelet would tell. */
export async function createCardNode(client: KubernetesClient, name: string): Promise<void> {
  await client.create(nodeKind, { metadata: { name } })
  const amount = { cpu: '64', memory: '512Gi', pods: '110', 'nvidia.com/gpu-l40s': '8' }
  const conditions = [{ type: 'Ready', status: 'True' as const, reason: 'Played', message: '' }]
  await client.changeStatus(nodeKind, { name }, (node) => ({
    ...node,
    status: { ...node.status, capacity: amount, allocatable: amount, conditions },
  }))
}
