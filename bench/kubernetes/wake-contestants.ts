import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import * as http from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { modelKind } from '../../src/resources/model.ts'
import { podKind } from '../../src/resources/pod.ts'
import { chart, addressOf } from '../../tests/support/chart-stage.ts'
import { SluiceProcess } from '../../tests/support/sluice-process.ts'
import { NodeStage, card } from '../../tests/kubernetes/node/node-stage.ts'
import { now } from './pod-times.ts'
import { stubEngine, writeStubImage } from './stub-engine.ts'

/** Who is measured. */
export interface WakeContestant {
  readonly name: string
  readonly client: KubernetesClient
  readonly namespace: string
  /** On its Pods: the name of their model. */
  readonly label: string
  /** Makes a model that sleeps, and returns when everybody knows it. */
  prepare(model: string): Promise<void>
  ask(model: string): Promise<Asked>
  /** Removes the model, and returns when its Pod is gone. */
  remove(model: string): Promise<void>
  stop(): Promise<void>
}

export interface Asked {
  readonly askedAt: number
  readonly firstByteAt: number
  readonly body: string
}

type Dial = (host: string, port: number) => Socket

const namespace = 'sluice'
const patienceMs = 120_000
/** What follows the making of a model is no part of its wake. */
export const settleMs = 500

export function ask(gateway: string, model: string, dial?: Dial): Promise<Asked> {
  const { hostname, port } = new URL(gateway)
  const connection = dial === undefined ? {} : { createConnection: () => dial(hostname, Number(port)) }
  return new Promise((resolve, reject) => {
    const askedAt = now()
    const request = http.request(`${gateway}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      signal: AbortSignal.timeout(patienceMs),
      ...connection,
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const firstByteAt = now()
      let body = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
      response.on('end', () => {
        if (response.statusCode === 200) resolve({ askedAt, firstByteAt, body })
        else reject(new Error(`${response.statusCode}: ${body}`))
      })
    })
    request.end(JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }))
  })
}

export async function untilPodIsGone(
  client: KubernetesClient,
  where: string,
  label: string,
  model: string,
): Promise<void> {
  const deadline = now() + patienceMs
  for (;;) {
    const { items } = await client.list(podKind, { namespace: where, labels: { [label]: model } })
    if (items.length === 0) return
    if (now() > deadline) throw new Error(`the Pod of ${model} does not go`)
    await sleep(50)
  }
}

const label = 'sluice.dev/model'
const spec = { url: 'pvc://userdata/models/smollm2', engine: 'LlamaCpp', resourceProfile: `${card}:1` } as const

async function createModel(client: KubernetesClient, model: string): Promise<void> {
  await client.create(modelKind, { metadata: { name: model, namespace }, spec })
  const deadline = now() + patienceMs
  while ((await client.get(modelKind, { namespace, name: model }))?.status?.phase !== 'Asleep') {
    if (now() > deadline) throw new Error(`${model} does not sleep`)
    await sleep(20)
  }
  await sleep(settleMs)
}

async function removeModel(client: KubernetesClient, model: string): Promise<void> {
  await client.delete(modelKind, { namespace, name: model })
  await untilPodIsGone(client, namespace, label, model)
}

/** A node with the stub as its engine. */
export async function startNode(): Promise<NodeStage> {
  const stage = await NodeStage.start()
  const archive = join(stage.cluster.machine.folder, 'stub.oci.tar')
  await writeStubImage(archive)
  await stage.cluster.importImages(archive)
  return stage
}

/** The chart on a Kubernetes with a node. */
export async function sluiceOn(stage: NodeStage): Promise<WakeContestant> {
  await stage.helm('install', 'bench', chart, '--wait', '--timeout', '4m')
  await stage.applyModel('first', spec)
  const [gateway] = await stage.podsOf('gateway')
  if (!gateway) throw new Error('there is no gateway')
  const { client, machine } = stage.cluster
  return {
    name: 'on a node',
    client,
    namespace,
    label,
    prepare: (model) => createModel(client, model),
    ask: (model) => ask(addressOf(gateway), model, (host, port) => machine.dial(host, port)),
    remove: (model) => removeModel(client, model),
    async stop() {
      await stage.helm('uninstall', 'bench')
    },
  }
}

/** `sluice up` on this machine. */
export async function embedded(): Promise<WakeContestant> {
  const data = mkdtempSync(join(tmpdir(), 'sluice-bench-wake-'))
  mkdirSync(join(data, 'volumes/userdata/models/smollm2'), { recursive: true })
  writeFileSync(join(data, 'volumes/userdata/models/smollm2/model.gguf'), 'GGUF'.padEnd(64))
  const command = [process.execPath, '-e', stubEngine, '--']
  const images = { 'registry.local-1.localhost/sluice/llama-cpp': { command } }
  writeFileSync(join(data, 'config.yaml'), JSON.stringify({ images }))
  const flags = ['--no-demo-model', '--gpus', `${card}=2`, '--config', join(data, 'config.yaml')]
  const sluice = await SluiceProcess.start(data, flags)
  const client = await connectKubernetes(sluice.kubeconfig)
  const { gateway } = sluice.endpoints
  if (gateway === null) throw new Error('there is no gateway')
  return {
    name: 'embedded',
    client,
    namespace,
    label,
    prepare: (model) => createModel(client, model),
    ask: (model) => ask(gateway, model),
    remove: (model) => removeModel(client, model),
    async stop() {
      client.close()
      await sluice.stop()
      rmSync(data, { recursive: true, force: true })
    },
  }
}
