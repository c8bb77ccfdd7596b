import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClusterClient } from '../../src/cluster/cluster-client.ts'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { tinyPlainTemplate, writeTinyModel } from '../../src/engine/models/tiny-model.ts'
import { type Model, modelKind } from '../../src/resources/model.ts'
import { type Pod, podKind } from '../../src/resources/pod.ts'
import { SluiceProcess, killIfThere, podProcesses, processesMentioning, until } from './sluice-process.ts'

export const namespace = 'sluice'
const patienceMs = 60_000

/** Runs `sluice up` with models made from a tiny file. */
export class ModelStage {
  readonly data = mkdtempSync(join(tmpdir(), 'sluice-models-'))
  readonly #flags: string[]
  readonly #env: NodeJS.ProcessEnv
  #sluice: SluiceProcess | undefined
  #client: ClusterClient | undefined

  constructor(flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    this.#env = env
    // It is killed again and again, before a start counts as successful.
    this.#flags = ['--no-demo-model', '--no-safe-mode', ...flags]
  }

  addFlags(...flags: readonly string[]): void {
    this.#flags.push(...flags)
  }

  get sluice(): SluiceProcess {
    if (!this.#sluice) throw new Error('sluice does not run')
    return this.#sluice
  }

  get client(): ClusterClient {
    if (!this.#client) throw new Error('sluice does not run')
    return this.#client
  }

  async start(): Promise<void> {
    this.#sluice = await SluiceProcess.start(this.data, this.#flags, this.#env)
    this.#client = await connectKubernetes(this.sluice.kubeconfig)
  }

  async addFile(path: string): Promise<void> {
    mkdirSync(join(this.folder, path), { recursive: true })
    await writeTinyModel(join(this.folder, path, 'model.gguf'), { chatTemplate: tinyPlainTemplate })
  }

  get folder(): string {
    return join(this.data, 'volumes/userdata')
  }

  async destroy(): Promise<void> {
    this.#sluice?.destroy()
    for (const pid of new Set([...processesMentioning(this.data), ...podProcesses(this.data)])) killIfThere(pid)
    rmSync(this.data, { recursive: true, force: true })
  }

  create(name: string, spec: Record<string, unknown> = {}): Promise<Model> {
    const usual = { url: 'pvc://userdata/models/tiny', engine: 'LlamaCpp', minReplicas: 1 }
    return this.client.create(modelKind, { metadata: { name, namespace }, spec: { ...usual, ...spec } })
  }

  async model(name: string): Promise<Model> {
    const model = await this.client.get(modelKind, { namespace, name })
    if (!model) throw new Error(`no Model ${name}`)
    return model
  }

  /** Waits until the Model's status is as expected. If that takes too long, the error says what it was. */
  async untilModel(name: string, holds: (model: Model) => boolean): Promise<Model> {
    let last: Model | undefined
    await until(`Model ${name}`, patienceMs, async () => holds((last = await this.model(name)))).catch(
      (error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(last?.status)}`)
      },
    )
    return this.model(name)
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.client.list(podKind, { namespace })).items
  }

  /** Waits for the first moment at which a Pod is as expected. It uses a watch, so that no moment is missed. */
  async untilPod(holds: (pod: Pod) => boolean): Promise<Pod> {
    const { items, resourceVersion } = await this.client.list(podKind, { namespace })
    const found = items.find(holds)
    if (found) return found
    const signal = AbortSignal.timeout(patienceMs)
    for await (const event of this.client.watch(podKind, { namespace, resourceVersion }, signal)) {
      if (event.type !== 'BOOKMARK' && event.type !== 'DELETED' && holds(event.object)) return event.object
    }
    throw new Error('no Pod got there')
  }

  /** All processes of Pods, by the uid of the Pod. */
  processes(): Map<string, number[]> {
    return Map.groupBy(podProcesses(this.data), (pid) => podOf(pid))
  }

  async chat(model: string, more: object = {}): Promise<Response> {
    return fetch(`${this.sluice.endpoints.gateway}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2, ...more }),
      signal: AbortSignal.timeout(patienceMs),
    })
  }
}

/** The process of the container, according to the Pod's status. */
export function pidOf(pod: Pod): number {
  return Number(pod.status?.containerStatuses?.[0]?.containerID?.replace('process://', ''))
}

function podOf(pid: number): string {
  try {
    return /SLUICE_POD_UID=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1] ?? ''
  } catch {
    return 'ended'
  }
}
