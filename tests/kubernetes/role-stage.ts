import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import type { KubernetesObject } from '../../src/resources/kubernetes-object.ts'
import { gatewayNamespace, modelLabel } from '../../src/resources/model-labels.ts'
import { type Model, modelKind } from '../../src/resources/model.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { type Pod, podKind } from '../../src/resources/pod.ts'
import { serviceAccountKind } from '../../src/resources/service-account.ts'
import { isStatusError } from '../../src/resources/status-error.ts'
import type { ContractServer } from './contract-server.ts'
import { PodPlayer, runningStatus } from './pod-player.ts'
import { RoleProcess } from './role-process.ts'

const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'

/** The roles of Sluice as processes in front of a server, with somebody who plays the node. */
export class RoleStage {
  readonly player: PodPlayer
  readonly #server: ContractServer
  readonly #roles: RoleProcess[] = []
  readonly #gatewayPods: string[] = []
  readonly #accounts: string[] = []

  constructor(server: ContractServer) {
    this.#server = server
    this.player = new PodPlayer(server, gatewayNamespace)
  }

  async open(): Promise<void> {
    const { client } = this.#server
    await unlessThere(client.create(namespaceKind, { metadata: { name: gatewayNamespace } }))
    // Pods are only accepted when it exists, and without controllers nobody creates it.
    const account = { metadata: { name: 'default', namespace: gatewayNamespace } }
    if (this.#server.isReal) await unlessThere(client.create(serviceAccountKind, account))
    await this.player.start()
  }

  async close(): Promise<void> {
    const { client } = this.#server
    for (const name of this.#gatewayPods) {
      await client.delete(podKind, { name, namespace: gatewayNamespace }, { graceSeconds: 0 }).catch(() => {})
    }
    await Promise.all(this.#roles.map((role) => role.stop()))
    await this.player.stop()
    // Without garbage collection, Pods outlive their Models, and would be played by other tests.
    const { items } = await client.list(podKind, { namespace: gatewayNamespace })
    for (const { metadata } of items.filter((pod) => pod.metadata.labels?.[modelLabel] !== undefined)) {
      await client.delete(podKind, metadata, { graceSeconds: 0 }).catch(() => {})
    }
    // The chart of other tests has accounts of the same names.
    for (const account of this.#accounts) {
      await this.#server.http('DELETE', `${bindings}/everything-${account}`)
      await this.#server.http('DELETE', `/api/v1/namespaces/${gatewayNamespace}/serviceaccounts/${account}`)
    }
  }

  /** A kubeconfig of a service account of the roles' namespace, which may do everything. */
  async kubeconfigOf(account: string): Promise<string> {
    const { client } = this.#server
    const metadata = { name: account, namespace: gatewayNamespace }
    await unlessThere(client.create(serviceAccountKind, { metadata }))
    this.#accounts.push(account)
    const binding = {
      metadata: { name: `everything-${account}` },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace: gatewayNamespace }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    }
    const bound = await this.#server.http('POST', bindings, binding)
    if (bound.code >= 300 && bound.code !== 409) throw new Error(bound.text)
    return this.ownKubeconfigOf(account)
  }

  /** The same of an account that is there, with the rights that it has. */
  async ownKubeconfigOf(account: string): Promise<string> {
    const { address, folder } = this.#server
    const path = `/api/v1/namespaces/${gatewayNamespace}/serviceaccounts/${account}/token`
    const { status } = (await this.#server.ok('POST', path, { spec: {} })) as { status?: { token?: string } }
    const config = JSON.parse(readFileSync(address.kubeconfig, 'utf8')) as { users: Array<{ user: object }> }
    config.users = config.users.map((user) => ({ ...user, user: { token: status?.token } }))
    const file = join(folder, `${account}.kubeconfig`)
    writeFileSync(file, JSON.stringify(config))
    return file
  }

  async start(role: string, flags: readonly string[] = [], kubeconfig?: string): Promise<RoleProcess> {
    const started = await RoleProcess.start(role, kubeconfig ?? this.#server.address.kubeconfig, flags)
    this.#roles.push(started)
    return started
  }

  /** A gateway and the Pod that it is in the eyes of the controller. */
  async startGateway(flags: readonly string[] = [], kubeconfig?: string): Promise<string> {
    const usual = ['--gateway-port', '0', '--demand-port', '0', '--wake-deadline', '60']
    const gateway = await this.start('gateway', [...usual, ...flags], kubeconfig)
    const { port, demandPort } = await gateway.says('the gateway listens')
    const metadata = {
      name: `gateway-${gateway.pid}`,
      namespace: gatewayNamespace,
      labels: { 'sluice.dev/role': 'gateway' },
    }
    const container = {
      name: 'gateway',
      image: this.#server.image,
      ports: [{ name: 'demand', containerPort: Number(demandPort) }],
    }
    const { client } = this.#server
    await client.create(podKind, { metadata, spec: { containers: [container] } })
    this.#gatewayPods.push(metadata.name)
    await client.changeStatus(podKind, metadata, (pod) => ({ ...pod, status: runningStatus(pod, '127.0.0.1') }))
    return `http://127.0.0.1:${String(port)}`
  }

  /** Ends the role that was started last as a crash would. */
  killLast(): void {
    this.#roles.at(-1)?.kill()
  }

  async createModel(name: string, spec: object): Promise<void> {
    const usual = { url: `pvc://userdata/models/${name}`, engine: 'VLLM', resourceProfile: 'nvidia.com/gpu-l40s:1' }
    const metadata = { name, namespace: gatewayNamespace }
    await this.#server.client.create(modelKind, { metadata, spec: { ...usual, ...spec } })
  }

  async model(name: string): Promise<Model | undefined> {
    return this.#server.client.get(modelKind, { name, namespace: gatewayNamespace })
  }

  async podsOf(name: string): Promise<readonly Pod[]> {
    const labels = { [modelLabel]: name }
    return (await this.#server.client.list(podKind, { namespace: gatewayNamespace, labels })).items
  }
}

/** Asks a gateway, which may wait for a Model. */
export async function askModel(gateway: string, model: string): Promise<{ status: number; text: string }> {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const signal = AbortSignal.timeout(90_000)
  const asking = request(`${gateway}/openai/v1/chat/completions`, { method: 'POST', headers, signal, agent: false })
  asking.end(body)
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of response) text += String(piece)
  return { status: response.statusCode ?? 0, text }
}

export async function unlessThere<T extends KubernetesObject>(create: Promise<T>): Promise<void> {
  try {
    await create
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error
  }
}
