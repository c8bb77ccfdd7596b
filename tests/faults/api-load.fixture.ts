import { setTimeout as pause } from 'node:timers/promises'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { eventKind } from '../../src/resources/event.ts'
import { leaseKind } from '../../src/resources/lease.ts'
import { podKind } from '../../src/resources/pod.ts'

const namespace = 'default'
/** How many objects are written to in turn, so that no two writes that wait for the disk are about the same object. */
const targets = 60
const names = Array.from({ length: targets }, (_, at) => `busy-${at}`)

/**
 * One client for each kind of request: connections per client are limited, and reads must not wait for one that a write
 * is using.
 */
type Clients = Readonly<Record<'reader' | 'patcher' | 'holder' | 'teller', KubernetesClient>>

interface ApiLoadOptions {
  readonly kubeconfig: string
  /** Tells this load from others. */
  readonly name: string
  /** Called with how long each request took. */
  readonly took: (what: string, ms: number) => void
}

/** Reads from the API one after the other, and writes at a fixed rate whether or not earlier writes are done. */
export class ApiLoad {
  readonly refused: unknown[] = []
  readonly #options: ApiLoadOptions
  readonly #clients: Clients
  /** What the writes should have left in the cluster. */
  readonly #made = { keys: [] as string[], messages: [] as string[], holders: {} as Record<string, string> }
  readonly #stopping = new AbortController()
  readonly #writing = new Set<Promise<void>>()
  readonly #running: Promise<unknown>

  private constructor(options: ApiLoadOptions, clients: Clients) {
    this.#options = options
    this.#clients = clients
    const { reader } = clients
    this.#running = Promise.all([
      this.#repeat(100, () => this.#timed('read', () => reader.list(podKind, { namespace: 'sluice' }))),
      this.#repeat(100, () => this.#timed('read beside own writes', () => reader.list(configMapKind, { namespace }))),
      this.#repeat(150, (turn) => this.#writeAll(turn)),
    ])
    // `stop` reports a failure; until then it must not count as unhandled.
    this.#running.catch(() => {})
  }

  /** Creates the objects to write to. To be called once, before any load. */
  static async prepare(client: KubernetesClient): Promise<void> {
    for (const name of names) {
      await client.create(configMapKind, { metadata: { name, namespace }, data: {} })
      await client.create(leaseKind, { metadata: { name, namespace }, spec: { holderIdentity: 'nobody' } })
    }
  }

  static async start(options: ApiLoadOptions): Promise<ApiLoad> {
    const connect = () => connectKubernetes(options.kubeconfig)
    const [reader, patcher, holder, teller] = await Promise.all([connect(), connect(), connect(), connect()])
    return new ApiLoad(options, { reader, patcher, holder, teller })
  }

  /** Resolves when all writes so far are done. */
  async written(): Promise<void> {
    await Promise.all(this.#writing)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.written()
  }

  close(): void {
    this.#stopping.abort()
    for (const client of Object.values(this.#clients)) client.close()
  }

  /** What was written but is missing, and what is there but was not written. */
  async differences(): Promise<readonly string[]> {
    const { reader } = this.#clients
    const mine = (mark: string) => mark.startsWith(`${this.#options.name}-`)
    const maps = (await reader.list(configMapKind, { namespace })).items
    const events = (await reader.list(eventKind, { namespace })).items
    const leases = (await reader.list(leaseKind, { namespace })).items
    const keys = maps.flatMap(({ data }) => Object.keys(data ?? {})).filter(mine)
    const messages = events.flatMap(({ reason, message }) => (reason === 'Busy' ? [message ?? ''] : [])).filter(mine)
    const holders = new Map(leases.map(({ metadata, spec }) => [metadata.name, spec?.holderIdentity]))
    const { holders: held } = this.#made
    return [
      ...onlyInOne(keys, this.#made.keys).map((key) => `key ${key}`),
      ...onlyInOne(messages, this.#made.messages).map((mark) => `Event ${mark}`),
      ...Object.keys(held).flatMap((name) => (holders.get(name) === held[name] ? [] : [`Lease ${name}`])),
    ]
  }

  /** Acts at a steady rate until the load is stopped. */
  async #repeat(everyMs: number, act: (turn: number) => Promise<void> | void): Promise<void> {
    for (let turn = 0; !this.#stopping.signal.aborted; turn += 1) {
      await act(turn)
      await pause(everyMs)
    }
  }

  async #timed(what: string, act: () => Promise<unknown>): Promise<void> {
    const begun = performance.now()
    await act()
    this.#options.took(what, performance.now() - begun)
  }

  #write(act: () => Promise<unknown>): void {
    const one: Promise<void> = this.#timed('write', act)
      .catch((error: unknown) => void this.refused.push(error))
      .finally(() => this.#writing.delete(one))
    this.#writing.add(one)
  }

  #writeAll(turn: number): void {
    const { patcher, holder, teller } = this.#clients
    const name = names[turn % targets] ?? ''
    const ref = { namespace, name }
    const mark = `${this.#options.name}-${turn}`
    this.#made.keys.push(mark)
    this.#made.messages.push(mark)
    this.#made.holders[name] = mark
    this.#write(() => patcher.patch(configMapKind, ref, { data: { [mark]: 'made' } }))
    this.#write(() => holder.patch(leaseKind, ref, { spec: { holderIdentity: mark } }))
    const involvedObject = { apiVersion: 'v1', kind: 'ConfigMap', ...ref }
    const event = { metadata: { name: `${name}.${mark}`, namespace }, involvedObject, reason: 'Busy', message: mark }
    this.#write(() => teller.create(eventKind, event))
  }
}

function onlyInOne(some: readonly string[], others: readonly string[]): readonly string[] {
  const [first, second] = [new Set(some), new Set(others)]
  return [...some.filter((one) => !second.has(one)), ...others.filter((one) => !first.has(one))]
}
