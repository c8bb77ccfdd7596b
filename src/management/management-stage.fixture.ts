import { type Socket, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach } from 'vitest'
import type { ObjectCache } from '../cluster/informer.ts'
import { systemClock } from '../foundation/clock.ts'
import { createLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import { type ApiKey, apiKeySchema } from '../resources/api-key.ts'
import { clusterSchema } from '../resources/cluster.ts'
import { type ComputeCenter, computeCenterSchema } from '../resources/compute-center.ts'
import { type Node, nodeSchema } from '../resources/node.ts'
import type { Pod } from '../resources/pod.ts'
import type { ClusterView } from './cluster-directory.ts'
import { apiKeySpec, generateKeyPair } from './key-pair.ts'
import { ManagementServer, type ManagementServerOptions } from './management-server.ts'

export const acme = generateKeyPair()
export const rival = generateKeyPair()
export const disabled = generateKeyPair()
export const forInference = generateKeyPair()
export const expired = generateKeyPair()

export const credential = ({ accessKey, secretKey }: { accessKey: string; secretKey: string }) =>
  `plain Credential=${accessKey},Signature=${secretKey}`

function keyOf(pair: typeof acme, enterprise: string, off = false, more: Partial<ApiKey['spec']> = {}): ApiKey {
  return apiKeySchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'ApiKey',
    metadata: { name: pair.accessKey.toLowerCase() },
    spec: { ...apiKeySpec(pair, enterprise), disabled: off, ...more },
  })
}

export function centerWith(spec: Record<string, unknown>): ComputeCenter {
  return computeCenterSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'ComputeCenter',
    metadata: { name: 'x' },
    spec: {
      id: '1',
      code: 'local-1',
      name: '本地',
      nameEn: 'Local',
      country: 'here',
      address: 'this machine',
      proxyDomain: 'local-1.localhost',
      registry: 'registry.local-1.localhost',
      ...spec,
    },
  })
}

export interface FakeCache<T> extends ObjectCache<T> {
  items: T[]
  synced: boolean
  changed(): void
}

export function cacheOf<T>(...items: T[]): FakeCache<T> {
  const listeners = new Set<() => void>()
  return {
    items,
    synced: true,
    get: () => undefined,
    list() {
      return this.items
    },
    onChange(listener) {
      const call = () => this.items.forEach((object) => listener({ type: 'updated', object }))
      listeners.add(call)
      return () => listeners.delete(call)
    },
    changed: () => listeners.forEach((call) => call()),
  }
}

/** A management server for each test, with keys of two enterprises and one cluster. */
export class ManagementStage {
  readonly nodes = cacheOf<Node>(
    nodeSchema.parse({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n' },
      status: {
        allocatable: { cpu: '8', memory: '32Gi', 'nvidia.com/gpu-l40s': '1' },
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    }),
  )
  readonly cluster = clusterSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Cluster',
    metadata: { name: 'vks-1' },
    spec: { displayName: 'first', enterprise: 'acme', center: 'local-1' },
  })
  keys = cacheOf<ApiKey>()
  centers = cacheOf<ComputeCenter>()
  find: (id: string) => ClusterView | undefined = () => undefined
  logLines: string[] = []
  #server: ManagementServer | undefined

  constructor() {
    beforeEach(() => this.#begin())
    afterEach(() => this.#server?.stop(AbortSignal.timeout(2_000)))
  }

  get server(): ManagementServer {
    if (!this.#server) throw new Error('only within a test')
    return this.#server
  }

  async #begin(): Promise<void> {
    this.keys = cacheOf(
      keyOf(acme, 'acme'),
      keyOf(rival, 'rival'),
      keyOf(disabled, 'acme', true),
      keyOf(forInference, 'acme', false, { use: 'Inference' }),
      keyOf(expired, 'acme', false, { expiresAt: '2020-01-01T00:00:00Z' }),
    )
    this.centers = cacheOf(centerWith({}))
    this.find = (id) =>
      id === 'vks-1' ? { cluster: this.cluster, nodes: this.nodes, pods: cacheOf<Pod>() } : undefined
    this.logLines = []
    await this.restart()
  }

  async restart(options: Partial<ManagementServerOptions> = {}): Promise<void> {
    await this.#server?.stop(AbortSignal.timeout(2_000))
    this.#server = new ManagementServer({
      host: '127.0.0.1',
      port: 0,
      keys: this.keys,
      centers: this.centers,
      clusters: { find: (id) => this.find(id) },
      clock: systemClock,
      log: createLogger({ destination: { write: (line) => void this.logLines.push(line) } }),
      metrics: new Metrics(),
      ...options,
    })
    await this.#server.start()
  }

  async ask(path: string, authorization: string | undefined = credential(acme), init: RequestInit = {}) {
    const headers = authorization === undefined || authorization === '' ? {} : { authorization }
    const response = await fetch(`http://127.0.0.1:${this.server.port}${path}`, { headers, ...init })
    const body = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body,
      json: body.startsWith('{') ? JSON.parse(body) : undefined,
    }
  }

  /** Sends these bytes, and returns everything that comes back until the server closes the connection. */
  async sendRaw(bytes: string): Promise<{ status: number; head: string; body: string }> {
    const socket: Socket = connect(this.server.port, '127.0.0.1')
    socket.write(bytes)
    const answer = await text(socket)
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), body }
  }
}
