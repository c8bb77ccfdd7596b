import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type KubernetesClient, connectKubernetes } from '../../../src/cluster/kubernetes-client.ts'
import { tinyPlainTemplate, writeTinyModel } from '../../../src/engine/models/tiny-model.ts'
import { storedKinds } from '../../../src/resources/all-kinds.ts'
import { configMapKind } from '../../../src/resources/config-map.ts'
import { eventKind } from '../../../src/resources/event.ts'
import { jobKind } from '../../../src/resources/job.ts'
import { modelKind } from '../../../src/resources/model.ts'
import { namespaceKind } from '../../../src/resources/namespace.ts'
import { type Pod, podKind } from '../../../src/resources/pod.ts'
import { isStatusError } from '../../../src/resources/status-error.ts'
import { SluiceProcess, killIfThere, podProcesses, processesMentioning } from '../sluice-process.ts'
import { anyProgram } from './container-programs.ts'
import { Dice } from './dice.ts'
import { differences } from './expected-state.ts'
import { makeObject, podTemplate, quotaNamespace, type Surroundings } from './make-object.ts'
import { Overseer, type Sightings } from './overseer.ts'
import { type WantedObject, idOf } from './wanted-object.ts'

export interface FuzzReport extends Sightings {
  readonly seed: number
  readonly seconds: number
  readonly steps: Readonly<Record<string, number>>
  readonly restarts: number
  readonly checkpoints: number
  readonly events: number
  readonly storeMiB: number
}

const card = 'nvidia.com/gpu-l40s'
const registry = 'registry.local-1.localhost'
/** With more objects than this the machine is too full to say anything about Sluice. */
const mostWanted = 25
const settleMs = 90_000
/** How many Events there may be: their limit, and those that are about to be removed. */
const mostEvents = 20_000

/**
 * Applies random valid manifests, updates and deletes them, kills processes and Sluice itself, and knows what the
 * result must be. The same seed makes the same decisions; their timing depends on the machine.
 */
export class ManifestFuzzer {
  readonly #data = mkdtempSync(join(tmpdir(), 'sluice-fuzz-'))
  readonly #dice: Dice
  readonly #seed: number
  readonly #overseer = new Overseer(this.#data)
  readonly #wanted = new Map<string, WantedObject>()
  readonly #steps: Record<string, number> = {}
  readonly #namespaces = ['default']
  readonly #problems: string[] = []
  #sluice: SluiceProcess | undefined
  #client: KubernetesClient | undefined
  #made = 0
  #restarts = 0
  #checkpoints = 0
  #events = 0
  #evidence = ''

  constructor(seed: number) {
    this.#seed = seed
    this.#dice = new Dice(seed)
  }

  /** Acts for this long, and checks now and then that everything is as it must be. Ends early at the first problem. */
  async run(durationMs: number, say: (text: string) => void = () => {}): Promise<FuzzReport> {
    const begun = Date.now()
    await this.#prepare()
    await this.#start()
    await this.#cluster.create(namespaceKind, { metadata: { name: quotaNamespace } })
    try {
      while (Date.now() - begun < durationMs && this.#allProblems().length === 0) {
        const steps = this.#dice.between(10, 40)
        for (let step = 0; step < steps && Date.now() - begun < durationMs; step += 1) await this.#step()
        await this.#checkpoint()
        const { largestResidentMiB, slowestHealthMs, longestStallMs } = this.#overseer.sightings
        const at = Math.round((Date.now() - begun) / 1000)
        say(
          `${at} s: ${this.#checkpoints} checkpoints, ${this.#restarts} restarts, ${this.#wanted.size} objects, ${largestResidentMiB} MiB, ` +
            `slowest /healthz ${slowestHealthMs} ms, longest stall ${longestStallMs} ms, ${this.#events} Events`,
        )
      }
    } finally {
      await this.#overseer.rest()
    }
    return {
      ...this.#overseer.sightings,
      problems: this.#allProblems(),
      seed: this.#seed,
      seconds: Math.round((Date.now() - begun) / 1000),
      steps: this.#steps,
      restarts: this.#restarts,
      checkpoints: this.#checkpoints,
      events: this.#events,
      storeMiB: Math.round(statSync(join(this.#data, 'sluice.db')).size / 1024 / 1024),
    }
  }

  /** The end of Sluice's log and the objects as they were, to find out why something failed. */
  get lastLog(): string {
    const log = readFileSync(join(this.#data, 'logs/sluice.log'), 'utf8')
    return `${log.slice(-8_000)}\n${this.#sluice?.output.slice(-4_000) ?? ''}\n${this.#evidence}`
  }

  destroy(): void {
    this.#client?.close()
    this.#sluice?.destroy()
    for (const pid of new Set([...processesMentioning(this.#data), ...podProcesses(this.#data)])) killIfThere(pid)
    rmSync(this.#data, { recursive: true, force: true })
  }

  #allProblems(): readonly string[] {
    return [...this.#problems, ...this.#overseer.sightings.problems]
  }

  async #prepare(): Promise<void> {
    const folder = join(this.#data, 'volumes/userdata/models/tiny')
    mkdirSync(folder, { recursive: true })
    await writeTinyModel(join(folder, 'model.gguf'), { chatTemplate: tinyPlainTemplate })
    const images = { [`${registry}/tools/shell`]: { command: ['/bin/sh'] } }
    writeFileSync(join(this.#data, 'config.json'), JSON.stringify({ images }))
  }

  async #start(): Promise<void> {
    const flags = ['--no-demo-model', '--no-safe-mode', '--gpus', `${card}=3`, '--idle-window', '5']
    this.#sluice = await SluiceProcess.start(this.#data, [...flags, '--config', join(this.#data, 'config.json')])
    this.#client = await connectKubernetes(this.#sluice.kubeconfig)
    this.#overseer.watch(this.#sluice)
  }

  get #cluster(): KubernetesClient {
    if (!this.#client) throw new Error('sluice does not run')
    return this.#client
  }

  async #step(): Promise<void> {
    const act = this.#dice.weighted<[string, () => Promise<void>]>([
      [40, ['create', () => this.#create()]],
      [14, ['update', () => this.#update()]],
      [24, ['delete', () => this.#delete()]],
      [10, ['kill', () => this.#kill()]],
      [2, ['circle', () => this.#circle()]],
      [2, ['namespace', () => this.#changeNamespaces()]],
      [3, ['chat', () => this.#chat()]],
      // Lets time pass, so that the next steps meet objects in other states.
      [4, ['settle', () => pause(this.#dice.between(50, 1_500))]],
      [1.5, ['restart', () => this.#restart()]],
    ])
    if (!act) return
    const [name, run] = act
    this.#steps[name] = (this.#steps[name] ?? 0) + 1
    try {
      await run()
    } catch (error) {
      this.#problems.push(`${name} failed: ${String(error)}`)
    }
  }

  #around(): Surroundings {
    this.#made += 1
    return { registry, card, namespaces: this.#namespaces, name: `f${this.#made}` }
  }

  async #create(): Promise<void> {
    if (this.#wanted.size >= mostWanted) return this.#delete()
    const { wanted, body } = makeObject(this.#dice, this.#around())
    // Every manifest is valid, so a refusal is a problem and is thrown.
    await this.#cluster.create(wanted.kind, { ...body, metadata: body['metadata'] as object })
    // Events are removed by Sluice itself.
    if (wanted.kind.plural !== 'events') this.#wanted.set(idOf(wanted), wanted)
  }

  async #update(): Promise<void> {
    const wanted = this.#dice.pick([...this.#wanted.values()])
    if (!wanted) return
    const next = this.#changed(wanted)
    if (!next) return
    await this.#cluster.patch(wanted.kind, wanted, next.patch)
    this.#wanted.set(idOf(wanted), next.wanted)
  }

  #changed(wanted: WantedObject): { patch: Record<string, unknown>; wanted: WantedObject } | undefined {
    const { kind, pods, name } = wanted
    if (kind === configMapKind && wanted.fields['data'] !== undefined) {
      const data = { value: String(this.#dice.roll()) }
      return { patch: { data }, wanted: { ...wanted, fields: { data } } }
    }
    if (!pods || !['Deployment', 'ReplicaSet', 'StatefulSet'].includes(kind.kind)) {
      return { patch: { metadata: { annotations: { touched: String(this.#dice.roll()) } } }, wanted }
    }
    if (this.#dice.chance(0.6) || kind.kind === 'ReplicaSet') {
      const replicas = this.#dice.between(0, 4)
      return { patch: { spec: { replicas } }, wanted: { ...wanted, pods: { ...pods, replicas } } }
    }
    const program = anyProgram(this.#dice, String(this.#dice.roll()))
    const template = podTemplate(program, 0, { ...this.#around(), name })
    const stays = program.ends === 'never' && program.listensOn === undefined
    const mixed = !stays || pods.mixed || kind.kind === 'StatefulSet'
    return {
      patch: { spec: { template } },
      wanted: { ...wanted, kills: 0, pods: { ...pods, program, cards: 0, mixed } },
    }
  }

  async #delete(): Promise<void> {
    const wanted = this.#dice.pick([...this.#wanted.values()])
    if (!wanted) return
    this.#wanted.delete(idOf(wanted))
    const propagation = this.#dice.pick(['Foreground', 'Background', undefined] as const)
    const graceSeconds = this.#dice.pick([0, 1, undefined])
    await this.#cluster.delete(wanted.kind, wanted, { propagation, ...(wanted.kind === podKind && { graceSeconds }) })
  }

  async #kill(): Promise<void> {
    const wanted = this.#dice.pick([...this.#wanted.values()].filter(({ pods }) => pods?.program.ends === 'never'))
    if (!wanted) return
    const pod = this.#dice.pick(await this.#podsOf(wanted))
    const pid = Number(pod?.status?.containerStatuses?.[0]?.containerID?.replace('process://', ''))
    if (!pod?.status?.containerStatuses?.[0]?.state?.running || !podProcesses(this.#data).includes(pid)) return
    this.#wanted.set(idOf(wanted), { ...wanted, kills: wanted.kills + 1 })
    killIfThere(pid)
  }

  /** Makes three objects that own each other and deletes one of them in the foreground: all three must go. */
  async #circle(): Promise<void> {
    const names = ['a', 'b', 'c'].map((letter) => `circle-${this.#made}-${letter}`)
    this.#made += 1
    const made = []
    for (const name of names)
      made.push(await this.#cluster.create(configMapKind, { metadata: { name, namespace: 'default' } }))
    for (const [index, one] of made.entries()) {
      const { name, uid } = made[(index + 1) % 3]?.metadata ?? { name: '', uid: '' }
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, blockOwnerDeletion: true }]
      await this.#cluster.patch(
        configMapKind,
        { namespace: 'default', name: one.metadata.name },
        { metadata: { ownerReferences } },
      )
    }
    await this.#cluster.delete(
      configMapKind,
      { namespace: 'default', name: names[0] ?? '' },
      { propagation: 'Foreground' },
    )
    await this.#eventually('a circle of owners to go', async () => {
      const left = await this.#cluster.list(configMapKind, { namespace: 'default' })
      return left.items
        .filter(({ metadata }) => names.includes(metadata.name))
        .map(({ metadata }) => `${metadata.name} is left`)
    })
  }

  async #changeNamespaces(): Promise<void> {
    const [, ...own] = this.#namespaces
    const oldest = own[0]
    if (own.length < 2 || oldest === undefined) {
      const name = `fuzz-${(this.#made += 1)}`
      await this.#cluster.create(namespaceKind, { metadata: { name } })
      this.#namespaces.push(name)
      return
    }
    this.#namespaces.splice(this.#namespaces.indexOf(oldest), 1)
    for (const wanted of this.#wanted.values()) if (wanted.namespace === oldest) this.#wanted.delete(idOf(wanted))
    await this.#cluster.delete(namespaceKind, { name: oldest })
    await this.#eventually(`namespace ${oldest} to go`, async () => {
      const left = await this.#cluster.get(namespaceKind, { name: oldest })
      return left ? [`it is ${JSON.stringify(left['status'])}`, ...(await this.#leftIn(oldest))] : []
    })
  }

  async #leftIn(namespace: string): Promise<string[]> {
    const found: string[] = []
    for (const kind of storedKinds) {
      if (!kind.namespaced) continue
      for (const { metadata } of (await this.#cluster.list(kind, { namespace })).items) {
        found.push(`${kind.plural} ${metadata.name} is left, with the finalizers ${String(metadata.finalizers)}`)
      }
    }
    return found
  }

  /** Wakes a sleeping Model by asking it, whatever else goes on. If it finds no free card, it must say so. */
  async #chat(): Promise<void> {
    const ref = { namespace: 'sluice', name: 'tiny' }
    if (!(await this.#cluster.get(modelKind, ref))) {
      const spec = { url: 'pvc://userdata/models/tiny', engine: 'LlamaCpp', minReplicas: 0, scaleDownDelaySeconds: 0 }
      await this.#cluster.create(modelKind, { metadata: ref, spec })
    }
    const answer = await fetch(`${this.#sluice?.endpoints.gateway}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2 }),
      signal: AbortSignal.timeout(60_000),
    }).catch((error: unknown) => error)
    // Without a free card the request waits for one, as it should.
    if (!(answer instanceof Response)) return
    const text = await answer.text()
    if (![200, 404, 429, 503].includes(answer.status)) throw new Error(`a chat was answered ${answer.status}: ${text}`)
  }

  async #restart(): Promise<void> {
    const sluice = this.#sluice
    if (!sluice) return
    this.#restarts += 1
    await this.#overseer.rest()
    this.#client?.close()
    if (this.#dice.chance(0.75)) await sluice.killHard()
    else await sluice.stop()
    await this.#start()
  }

  async #podsOf(wanted: WantedObject): Promise<readonly Pod[]> {
    const { items } = await this.#cluster.list(podKind, { namespace: wanted.namespace, labels: { fuzz: wanted.name } })
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  }

  /** Waits until everything is as it must be. What never gets there is a problem. */
  async #checkpoint(): Promise<void> {
    await this.#eventually('everything to be as it must be', () => this.#wrong())
    this.#checkpoints += 1
  }

  async #wrong(): Promise<string[]> {
    const found: string[] = []
    const { items } = await this.#cluster.list(podKind)
    const byLabel = Map.groupBy(items, ({ metadata }) => `${metadata.namespace}/${metadata.labels?.['fuzz'] ?? ''}`)
    for (const wanted of this.#wanted.values()) {
      const object = await this.#cluster.get(wanted.kind, wanted)
      const pods = wanted.pods ? (byLabel.get(`${wanted.namespace}/${wanted.name}`) ?? []) : []
      const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      for (const text of differences(wanted, { object, pods: alive })) found.push(`${idOf(wanted)} ${text}`)
    }
    const live = new Set(items.map(({ metadata }) => metadata.uid))
    for (const pid of podProcesses(this.#data)) {
      const uid = uidOf(pid)
      if (uid !== '' && !live.has(uid)) found.push(`process ${pid} of Pod ${uid} is left`)
    }
    this.#events = (await this.#cluster.list(eventKind)).items.length
    if (this.#events > mostEvents) found.push(`there are ${this.#events} Events`)
    if (items.length > mostWanted * 8) found.push(`there are ${items.length} Pods`)
    return found
  }

  /** Every Pod and Job as it is, and what happened to them, for who looks into a problem. */
  async #objects(): Promise<string> {
    const cluster = this.#cluster
    const lists = [cluster.list(podKind), cluster.list(jobKind), cluster.list(eventKind)] as const
    return (await Promise.all(lists)).flatMap(({ items }) => items.map((item) => JSON.stringify(item))).join('\n')
  }

  async #eventually(what: string, wrong: () => Promise<readonly string[]>): Promise<void> {
    const giveUpAt = Date.now() + settleMs
    for (;;) {
      const found = await wrong().catch((error: unknown) => [
        isStatusError(error) ? `refused: ${error.message}` : String(error),
      ])
      if (found.length === 0) return
      if (Date.now() > giveUpAt) {
        this.#problems.push(...found.map((text) => `while waiting for ${what}: ${text}`))
        this.#evidence = await this.#objects().catch(String)
        return
      }
      await pause(300)
    }
  }
}

function uidOf(pid: number): string {
  try {
    return /SLUICE_POD_UID=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1] ?? ''
  } catch {
    // The process has ended in the meantime.
    return ''
  }
}
