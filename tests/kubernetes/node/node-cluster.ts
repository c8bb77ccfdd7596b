import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { FileTree } from '../../../scripts/artefacts/file-tree.ts'
import { ociArchive, packLayer } from '../../../scripts/artefacts/oci-image.ts'
import { thisMachine } from '../../../scripts/artefacts/platform.ts'
import { type KubernetesClient, connectKubernetes } from '../../../src/cluster/kubernetes-client.ts'
import { isNodeReady, nodeKind } from '../../../src/resources/node.ts'
import { until } from '../../support/sluice-process.ts'
import {
  containerdSettings,
  kubeconfig,
  kubeletSettings,
  networkSettings,
  nodeName,
  pauseImage,
  proxySettings,
  serviceRange,
} from './node-settings.ts'
import { SealedMachine } from './sealed-machine.ts'

const address = '10.210.0.1'
const apiPort = 6443
const readyDeadlineMs = 120_000
const kubernetesPrograms = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'helm',
  'pause',
]
const systemPrograms = ['unshare', 'containerd', 'ctr', 'runc', 'ip', 'iptables', 'conntrack']

/** Why there is no Kubernetes with a node here; undefined when there is one. */
export function missingNode(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux'
  if (process.getuid?.() !== 0) return 'needs root'
  const assets = process.env['KUBEBUILDER_ASSETS']
  if (!assets) return 'KUBEBUILDER_ASSETS does not name a folder with kubelet and the others'
  const absent = kubernetesPrograms.filter((program) => !existsSync(join(assets, program)))
  if (absent.length > 0) return `KUBEBUILDER_ASSETS has no ${absent.join(', ')}`
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const missing = systemPrograms.filter((program) => !folders.some((folder) => existsSync(join(folder, program))))
  if (!existsSync('/usr/lib/cni/bridge')) missing.push('containernetworking-plugins')
  return missing.length === 0 ? undefined : `the machine has no ${missing.join(', ')}`
}

/** The users of the control plane's own programs, who have a token each. */
const users = {
  admin: ['admin', 'system:masters'],
  'controller-manager': ['system:kube-controller-manager', ''],
  scheduler: ['system:kube-scheduler', ''],
  proxy: ['system:kube-proxy', ''],
  kubelet: [`system:node:${nodeName}`, 'system:nodes'],
} as const

/** A whole Kubernetes with one node that runs containers, in a sealed machine. */
export class NodeCluster {
  readonly machine: SealedMachine
  readonly client: KubernetesClient
  /** For programs outside of the machine. */
  readonly kubeconfig: string
  readonly #apiserverFlags: readonly string[]
  readonly #outages: { readonly from: number; until: number }[] = []

  private constructor(parts: {
    readonly machine: SealedMachine
    readonly client: KubernetesClient
    readonly kubeconfig: string
    readonly apiserverFlags: readonly string[]
  }) {
    this.machine = parts.machine
    this.client = parts.client
    this.kubeconfig = parts.kubeconfig
    this.#apiserverFlags = parts.apiserverFlags
  }

  static async start(): Promise<NodeCluster> {
    const machine = await SealedMachine.start(address)
    try {
      const tokens = new Map(Object.keys(users).map((user) => [user, randomBytes(16).toString('hex')]))
      await startContainerRuntime(machine)
      // Programs outside of containers need a route before the addresses of Services are translated.
      await machine.run('ip', 'route', 'add', serviceRange, 'dev', 'lo', 'src', address)
      const etcd = await startEtcd(machine)
      const apiserverFlags = flagsOfApiServer(machine, etcd, tokens)
      await machine.start(asset('kube-apiserver'), apiserverFlags)
      const ca = join(machine.folder, 'certs/apiserver.crt')
      for (const [user, token] of tokens) {
        writeFileSync(join(machine.folder, user), kubeconfig({ server: `https://${address}:${apiPort}`, ca, token }))
      }
      const outside = join(machine.folder, 'kubeconfig')
      const server = `https://127.0.0.1:${await machine.forward(address, apiPort)}`
      await until('the certificate of kube-apiserver', readyDeadlineMs, () => existsSync(ca))
      writeFileSync(outside, kubeconfig({ server, ca, token: tokens.get('admin') ?? '' }))
      const client = await connectKubernetes(outside)
      const cluster = new NodeCluster({ machine, client, kubeconfig: outside, apiserverFlags })
      await cluster.untilApiServerReady()
      await cluster.#startOthers()
      return cluster
    } catch (error) {
      const logs = ['kube-apiserver', 'kubelet', 'containerd'].map((name) => `${name}: ${machine.lastLines(name)}`)
      await machine.destroy()
      throw new Error(`the cluster did not start:\n${logs.join('\n')}`, { cause: error })
    }
  }

  /** Ends the API server as a crash would. */
  killApiServer(): Promise<void> {
    this.#outages.push({ from: Date.now(), until: Infinity })
    return this.machine.kill('kube-apiserver')
  }

  async startApiServer(): Promise<void> {
    await this.machine.start(asset('kube-apiserver'), this.#apiserverFlags)
    await this.untilApiServerReady()
    const outage = this.#outages.at(-1)
    if (outage) outage.until = Date.now()
  }

  /** Whether the API server was ready at a time. While it starts it refuses, because it has not read yet who may. */
  wasApiServerReady(time: number): boolean {
    return !this.#outages.some(({ from, until }) => time >= from && time <= until)
  }

  async untilApiServerReady(): Promise<void> {
    const isReady = () =>
      this.machine.run(asset('kubectl'), '--kubeconfig', join(this.machine.folder, 'admin'), 'get', '--raw', '/readyz')
    await until('the kube-apiserver', readyDeadlineMs, () =>
      isReady().then(
        () => true,
        () => false,
      ),
    )
  }

  /** Gives the node cards, as a device plugin would. */
  async declareCards(kind: string, count: number): Promise<void> {
    await this.client.changeStatus(nodeKind, { name: nodeName }, (node) => {
      const capacity = { ...node.status?.capacity, [kind]: String(count) }
      const allocatable = { ...node.status?.allocatable, [kind]: String(count) }
      return { ...node, status: { ...node.status, capacity, allocatable } }
    })
  }

  /** Brings the images of an archive to the node. */
  async importImages(archive: string): Promise<void> {
    await container(this.machine, 'images', 'import', archive)
  }

  async destroy(): Promise<void> {
    this.client.close()
    await this.machine.destroy()
  }

  async #startOthers(): Promise<void> {
    const { machine } = this
    const at = (name: string) => join(machine.folder, name)
    await machine.start(asset('kube-controller-manager'), [
      `--kubeconfig=${at('controller-manager')}`,
      '--leader-elect=false',
      '--use-service-account-credentials',
      `--service-account-private-key-file=${at('service-accounts.key')}`,
      `--root-ca-file=${at('certs/apiserver.crt')}`,
    ])
    await machine.start(asset('kube-scheduler'), [`--kubeconfig=${at('scheduler')}`, '--leader-elect=false'])
    const { controlGroup } = machine
    writeFileSync(at('kubelet.json'), kubeletSettings({ address, controlGroup }))
    await machine.start(asset('kubelet'), [
      `--config=${at('kubelet.json')}`,
      `--kubeconfig=${at('kubelet')}`,
      `--hostname-override=${nodeName}`,
      `--node-ip=${address}`,
    ])
    writeFileSync(at('proxy.json'), proxySettings({ kubeconfig: at('proxy'), address }))
    await machine.start(asset('kube-proxy'), [`--config=${at('proxy.json')}`])
    await until('the node', readyDeadlineMs, async () => {
      const node = await this.client.get(nodeKind, { name: nodeName })
      return node !== undefined && isNodeReady(node)
    })
  }
}

function asset(program: string): string {
  return join(process.env['KUBEBUILDER_ASSETS'] ?? '', program)
}

function container(machine: SealedMachine, ...words: readonly string[]): Promise<string> {
  return machine.run('ctr', '--address=/run/containerd.sock', '--namespace=k8s.io', ...words)
}

async function startContainerRuntime(machine: SealedMachine): Promise<void> {
  const { folder } = machine
  const networks = join(folder, 'networks')
  mkdirSync(networks)
  writeFileSync(join(networks, 'pods.conflist'), networkSettings(folder))
  const settings = join(folder, 'containerd.toml')
  writeFileSync(settings, containerdSettings(folder, networks))
  await machine.start('containerd', [`--config=${settings}`])
  await until('containerd', readyDeadlineMs, () =>
    container(machine, 'version').then(
      () => true,
      () => false,
    ),
  )
  const archive = join(folder, 'pause.tar')
  const layers = [await packLayer(new FileTree().addFile('pause', asset('pause')))]
  const pause = {
    name: pauseImage.name,
    description: 'Holds the namespaces of a Pod.',
    entrypoint: ['/pause'],
    layers,
  }
  writeFileSync(archive, ociArchive([{ architecture: thisMachine().architecture, images: [pause] }]))
  await container(machine, 'images', 'import', archive)
}

async function startEtcd(machine: SealedMachine): Promise<string> {
  const [client, peer] = ['http://127.0.0.1:2379', 'http://127.0.0.1:2380']
  await machine.start(asset('etcd'), [
    `--data-dir=${join(machine.folder, 'etcd')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--log-level=warn',
    '--unsafe-no-fsync',
  ])
  return client
}

function flagsOfApiServer(machine: SealedMachine, etcd: string, tokens: ReadonlyMap<string, string>): string[] {
  const at = (name: string) => join(machine.folder, name)
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(at('service-accounts.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  writeFileSync(at('service-accounts.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
  const lines = Object.entries(users).map(([user, [name, group]]) => `${tokens.get(user)},${name},${name},"${group}"\n`)
  writeFileSync(at('tokens.csv'), lines.join(''), { mode: 0o600 })
  return [
    `--etcd-servers=${etcd}`,
    `--bind-address=${address}`,
    `--advertise-address=${address}`,
    `--secure-port=${apiPort}`,
    `--cert-dir=${at('certs')}`,
    `--token-auth-file=${at('tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-signing-key-file=${at('service-accounts.key')}`,
    `--service-account-key-file=${at('service-accounts.pub')}`,
    `--service-cluster-ip-range=${serviceRange}`,
    '--kubelet-preferred-address-types=InternalIP',
  ]
}
