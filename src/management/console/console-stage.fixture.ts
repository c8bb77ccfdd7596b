import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SluiceError } from '../../foundation/errors.ts'
import type { FakeClock } from '../../foundation/fake-clock.ts'
import type { Cluster } from '../../resources/cluster.ts'
import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { type Model, modelSchema } from '../../resources/model.ts'
import { HeldObjects } from '../../resources/object-cache.ts'
import { type Pod, podSchema } from '../../resources/pod.ts'
import type { ServiceExporter } from '../../resources/service-exporter.ts'
import type { UsageRecord } from '../../resources/usage-record.ts'
import type { KeyPair } from '../key-pair.ts'
import { type ManagementStage, acme } from '../management-stage.fixture.ts'
import type { ConsoleChange, ConsoleClient, ConsoleWorld, ModelUpload, PullTicket } from './console-world.ts'

interface LiveMessage {
  readonly event: string
  readonly data: { readonly changed: Record<string, unknown>; readonly removed: readonly string[] }
}

/** A console with one Model and one Pod, whose cluster only writes down what it is asked for. */
export class ConsoleStage {
  readonly tiny: Model = modelSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name: 'tiny', namespace: 'sluice', uid: 'm' },
    spec: { url: 'pvc://userdata/models/tiny', engine: 'LlamaCpp', maxReplicas: 3 },
  })
  readonly models = new HeldObjects<Model>()
  readonly usage = new HeldObjects<UsageRecord>()
  readonly scaled: Array<[string, number]> = []
  readonly changes: ConsoleChange[] = []
  /** What was written: the verb, and the object. */
  readonly written: Array<[verb: string, object: unknown]> = []
  /** Lets a pull make progress, and end. */
  pull: { onProgress: PullTicket['onProgress']; end(url: string): void } | undefined
  /** What was sent of models that are uploaded; undefined once they are discarded. */
  readonly uploaded = new Map<string, Buffer | undefined>()
  /** What it asks the cluster by. */
  readonly client: ConsoleClient = {
    get: refuse,
    list: refuse,
    create: (kind, object) => this.#write('create', kind, object),
    update: (kind, object) => this.#write('update', kind, object),
    delete: async (_kind, { name }) => void this.written.push(['delete', name]),
    scale: async (_kind, { name }, replicas) => void this.scaled.push([name, replicas]),
  }
  cookie = ''
  readonly #stage: ManagementStage
  readonly #clock: FakeClock
  readonly #page = mkdtempSync(join(tmpdir(), 'sluice-console-'))
  readonly #left = new AbortController()

  constructor(stage: ManagementStage, clock: FakeClock) {
    this.#stage = stage
    this.#clock = clock
    writeFileSync(join(this.#page, 'index.html'), '<!doctype html>')
    this.models.put(this.tiny)
  }

  async start(more: Partial<ConsoleWorld> = {}): Promise<void> {
    await this.#stage.restart({
      clock: this.#clock,
      mayReadMetrics: (enterprise) => enterprise === 'acme',
      console: { ...this.#world(), ...more },
    })
  }

  leave(): void {
    this.#left.abort()
    rmSync(this.#page, { recursive: true })
  }

  get url(): string {
    return `http://127.0.0.1:${this.#stage.server.port}/api/console/v1/`
  }

  logIn({ accessKey, secretKey }: KeyPair, headers: Record<string, string> = {}) {
    const init = { method: 'POST', body: JSON.stringify({ accessKey, secretKey }) }
    return this.#stage.ask('/api/console/v1/session', '', { ...init, headers: { 'x-sluice-console': '1', ...headers } })
  }

  /** Logs in and keeps the cookie. */
  async enter(): Promise<void> {
    const { headers } = await this.logIn(acme)
    this.cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
  }

  ask(path: string) {
    return this.#stage.ask(`/api/console/v1/${path}`, '', { headers: { cookie: this.cookie } })
  }

  send(path: string, method: 'POST' | 'PUT' | 'DELETE', body?: unknown) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return this.#stage.ask(`/api/console/v1/${path}`, '', {
      method,
      headers: { cookie: this.cookie, 'x-sluice-console': '1' },
      ...(text === undefined ? {} : { body: text }),
    })
  }

  /** The messages of a stream, one after the other. */
  live(path = 'live', authorization?: string) {
    const headers: Record<string, string> = authorization === undefined ? { cookie: this.cookie } : { authorization }
    const response = fetch(`${this.url}${path}`, { headers, signal: this.#left.signal })
    const messages = messagesOf(response)
    return {
      /** Resolves with the head of the answer. */
      begun: response,
      next: async () => (await messages.next()).value ?? undefined,
      /** Resolves when the stream is over, whatever else it brings before. */
      ended: async () => {
        while (!(await messages.next()).done);
        return true
      },
    }
  }

  async #write<T extends KubernetesObject>(verb: string, kind: Kind<T>, object: object): Promise<T> {
    const written = kind.schema.parse({ apiVersion: 'sluice.dev/v1', kind: kind.kind, ...object })
    this.written.push([verb, written])
    return written
  }

  /** Keeps files in memory, and takes no piece that has the word "bad" in it. */
  #upload(model: string, files: ReadonlyArray<{ readonly name: string; readonly bytes: number }>): ModelUpload {
    const received = new Map(files.map(({ name }) => [name, 0]))
    const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0)
    this.uploaded.set(model, Buffer.alloc(0))
    return {
      totalBytes,
      received: () => received,
      isWhole: () => files.every(({ name, bytes }) => received.get(name) === bytes),
      write: async (file, at, bytes) => {
        if (at !== received.get(file)) throw new SluiceError('upload_at', { file, bytes: received.get(file) })
        for await (const part of bytes) {
          if (!Buffer.isBuffer(part)) continue
          if (part.includes('bad')) throw new SluiceError('model_not_taken', { reason: 'it is bad.' })
          this.uploaded.set(model, Buffer.concat([this.uploaded.get(model) ?? Buffer.alloc(0), part]))
          received.set(file, (received.get(file) ?? 0) + part.length)
        }
      },
      finish: async () => `pvc://userdata/models/${model}`,
      discard: async () => void this.uploaded.set(model, undefined),
    }
  }

  #world(): ConsoleWorld {
    const pods = new HeldObjects<Pod>()
    pods.put(
      podSchema.parse({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'tiny-1', namespace: 'sluice' },
        spec: { containers: [{ name: 'engine' }] },
      }),
    )
    const clusters = new HeldObjects<Cluster>()
    clusters.put(this.#stage.cluster)
    const { keys, nodes } = this.#stage
    return {
      pageDirectory: this.#page,
      clusterId: 'vks-1',
      namespace: 'sluice',
      caches: {
        models: this.models,
        pods,
        nodes,
        exporters: new HeldObjects<ServiceExporter>(),
        clusters,
        centers: this.#stage.centers,
        keys,
        usage: this.usage,
      },
      client: this.client,
      traffic: {
        sample: () => ({ active: 0, waiting: 0 }),
        lastActiveAt: () => undefined,
        inFlightByEndpoint: () => new Map<string, number>(),
      },
      logs: async function* (_pod, { container }, signal) {
        if (container === 'endless') {
          yield Buffer.from('it begins')
          await once(signal, 'abort')
          return
        }
        yield Buffer.from(`${container}: hello\n`)
        yield Buffer.from(`${container}: world\n`)
      },
      rehearsal: {
        create: async (kind, object) => kind.schema.parse({ apiVersion: 'sluice.dev/v1', kind: kind.kind, ...object }),
        update: (kind, object) => this.#write('rehearse', kind, object),
      },
      makeBearerKey: () => ({ accessKey: 'access-of-it', secretSha256: 'ab'.repeat(32), text: 'sk-access-secret' }),
      pulls: {
        check: () => {},
        fetch: (_address, _name, { onProgress, signal }) => {
          const { promise, resolve, reject } = Promise.withResolvers<string>()
          signal.addEventListener('abort', () => reject(new Error('stopped by hand')))
          this.pull = { onProgress, end: resolve }
          return promise
        },
      },
      modelFolders: async () => ({ root: '/data', folders: ['models/tiny'] }),
      uploads: { begin: async (name, files) => this.#upload(name, files) },
      audit: (change) => void this.changes.push(change),
    }
  }
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('not used here'))
}

async function* messagesOf(response: Promise<Response>): AsyncGenerator<LiveMessage, undefined> {
  const { body } = await response
  let held = ''
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    held += piece
    const parts = held.split('\n\n')
    held = parts.pop() ?? ''
    for (const part of parts) {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/s.exec(part) ?? []
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) }
    }
  }
  return undefined
}
