import { setTimeout as sleep } from 'node:timers/promises'
import type { KubernetesClient } from '../../src/cluster/kubernetes-client.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { deploymentKind } from '../../src/resources/deployment.ts'
import { jobKind } from '../../src/resources/job.ts'
import { modelKind } from '../../src/resources/model.ts'
import { podKind } from '../../src/resources/pod.ts'

const image = 'registry.local-1.localhost/sluice/sluice:1'
const namespace = 'default'
const chatsAtOnce = 4

/** What people do with a cluster all day: chats, wakes, reads and writes, Jobs and Pods that come and go. */
export class SoakLoad {
  readonly counts = { chats: 0, wakes: 0, reads: 0, writes: 0, jobs: 0, scalings: 0, failures: 0 }
  readonly failures = new Map<string, number>()
  readonly #client: KubernetesClient
  readonly #gateway: string
  readonly #over = new AbortController()
  #work: ReadonlyArray<Promise<void>> = []

  constructor(client: KubernetesClient, gateway: string) {
    this.#client = client
    this.#gateway = gateway
  }

  async start(): Promise<void> {
    await this.#prepare()
    this.#work = [
      ...Array.from({ length: chatsAtOnce }, () => this.#repeat('chat', 20, () => this.#chat('awake', 'chats'))),
      this.#repeat('wake', 25_000, () => this.#chat('sleeper', 'wakes')),
      this.#repeat('read', 300, () => this.#read()),
      this.#repeat('write', 500, () => this.#write()),
      this.#repeat('job', 4_000, () => this.#runJob()),
      this.#repeat('scale', 5_000, () => this.#scale()),
    ]
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await Promise.all(this.#work)
  }

  async #prepare(): Promise<void> {
    const spec = { url: 'pvc://userdata/models/tiny', engine: 'LlamaCpp', scaleDownDelaySeconds: 0 }
    for (const [name, minReplicas] of [
      ['awake', 1],
      ['sleeper', 0],
    ] as const) {
      await this.#client.create(modelKind, { metadata: { name, namespace: 'sluice' }, spec: { ...spec, minReplicas } })
    }
    const template = podTemplate('exec sleep 100000', 'Always')
    const web = { replicas: 1, selector: { matchLabels: { app: 'web' } }, template }
    await this.#client.create(deploymentKind, { metadata: { name: 'web', namespace }, spec: web })
  }

  /** Repeats an action, with a pause, until the time is over. Failures are counted. */
  async #repeat(name: string, pauseMs: number, act: () => Promise<void>): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted) {
      try {
        await act()
      } catch (error) {
        this.counts.failures += 1
        const what = `${name}: ${String(error).slice(0, 200)}`
        this.failures.set(what, (this.failures.get(what) ?? 0) + 1)
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  async #chat(model: string, counted: 'chats' | 'wakes'): Promise<void> {
    const answer = await fetch(`${this.#gateway}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 16, stream: true }),
      signal: AbortSignal.timeout(60_000),
    })
    const text = await answer.text()
    if (answer.status !== 200 || !text.includes('[DONE]')) throw new Error(`${answer.status} ${text.slice(-200)}`)
    this.counts[counted] += 1
  }

  async #read(): Promise<void> {
    await this.#client.list(podKind)
    await this.#client.list(modelKind, { namespace: 'sluice' })
    this.counts.reads += 2
  }

  async #write(): Promise<void> {
    const name = `note-${this.counts.writes % 200}`
    const data = { value: String(this.counts.writes).padStart(8, '0').repeat(100) }
    if (await this.#client.get(configMapKind, { namespace, name })) {
      await this.#client.patch(configMapKind, { namespace, name }, { data })
    } else await this.#client.create(configMapKind, { metadata: { name, namespace }, data })
    this.counts.writes += 1
  }

  async #runJob(): Promise<void> {
    const name = `job-${(this.counts.jobs += 1)}`
    const template = podTemplate('yes hello | head -c 50000; exit 0', 'Never')
    const spec = { template: { ...template, metadata: {} }, ttlSecondsAfterFinished: 20, backoffLimit: 0 }
    await this.#client.create(jobKind, { metadata: { name, namespace }, spec })
    const old = { namespace, name: `job-${this.counts.jobs - 20}` }
    if (await this.#client.get(jobKind, old)) await this.#client.delete(jobKind, old, { propagation: 'Background' })
  }

  async #scale(): Promise<void> {
    this.counts.scalings += 1
    await this.#client.scale(deploymentKind, { namespace, name: 'web' }, this.counts.scalings % 8)
  }
}

function podTemplate(script: string, restartPolicy: string) {
  return {
    metadata: { labels: { app: 'web' } },
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image, command: ['/bin/sh', '-c', script] }],
    },
  }
}
