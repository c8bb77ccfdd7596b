import { linkSync, mkdirSync, copyFileSync, readFileSync, readdirSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { text } from 'node:stream/consumers'
import { buildImage } from '../../../scripts/artefacts/build-image.ts'
import { thisMachine } from '../../../scripts/artefacts/platform.ts'
import { findTestModel, testModelMissing } from '../../../src/engine/test-support/test-model.fixture.ts'
import { leaseKind } from '../../../src/resources/lease.ts'
import { idleWindowAnnotation } from '../../../src/resources/model-labels.ts'
import { type Pod, podKind } from '../../../src/resources/pod.ts'
import { serviceKind } from '../../../src/resources/service.ts'
import { type Answer, type ComingAnswer, RequestLoad, askModel, streamModel } from '../../support/ask-model.ts'
import { addressOf, isReadyPodOf } from '../../support/chart-stage.ts'
import { namespace } from '../../support/model-stage.ts'
import { runProgram } from '../../support/programs.ts'
import { until } from '../../support/sluice-process.ts'
import { NodeCluster, missingNode } from './node-cluster.ts'
import { nodeName } from './node-settings.ts'

export const card = 'nvidia.com/gpu-l40s'
const patienceMs = 180_000
const healthPort = 8081
/** Connections to an address that nobody serves yet are neither answered nor refused. */
const secondsToConnect = 2
/** Of what roles logged, at the end of the story of a failure. */
const storyCharacters = 20_000

/** The part of a kubelet's `stats/summary` that is read here. */
interface StatsSummary {
  readonly pods: ReadonlyArray<{
    readonly podRef: { readonly name: string }
    readonly containers?: ReadonlyArray<{ readonly memory?: { readonly workingSetBytes?: number } }>
  }>
}

/** Why none of this can be shown here. */
export function missingNodeStage(): string | undefined {
  return missingNode() ?? (findTestModel() === undefined ? testModelMissing : undefined)
}

/** What a platform engineer has: a Kubernetes with a node, its cards, a volume with models, kubectl and helm. */
export class NodeStage {
  readonly cluster: NodeCluster

  private constructor(cluster: NodeCluster) {
    this.cluster = cluster
  }

  static async start(): Promise<NodeStage> {
    const cluster = await NodeCluster.start()
    const stage = new NodeStage(cluster)
    try {
      const { folder } = cluster.machine
      const images = join(folder, 'images.oci.tar')
      await buildImage(images, [thisMachine()])
      await cluster.importImages(images)
      await cluster.declareCards(card, 2)
      layOutModel(join(folder, 'data/models/smollm2'))
      return stage
    } catch (error) {
      await cluster.destroy()
      throw error
    }
  }

  destroy(): Promise<void> {
    return this.cluster.destroy()
  }

  async helm(...words: readonly string[]): Promise<string> {
    try {
      return await this.#tool('helm', words)
    } catch (error) {
      throw new Error(await this.story(), { cause: error })
    }
  }

  /** What has happened so far, for whoever has to find out why something failed. */
  async story(): Promise<string> {
    const pods = await this.kubectl('', '-n', namespace, 'get', 'pods,events').catch(String)
    const node = await this.kubectl('', '-n', 'default', 'get', 'events').catch(String)
    // Each line begins with its time.
    const logged = this.roleLogs().split('\n').sort().join('\n')
    return `${pods}\n${node}\n${logged.slice(-storyCharacters)}`
  }

  kubectl(input: string, ...words: readonly string[]): Promise<string> {
    return this.#tool('kubectl', words, input)
  }

  /** `sluice …` as somebody types it who has the kubeconfig and nothing else. */
  sluice(...words: readonly string[]): ReturnType<typeof runProgram> {
    const program = fileURLToPath(new URL('../../../bin/sluice', import.meta.url))
    return runProgram(program, [...words, '--kubeconfig', this.cluster.kubeconfig], '', patienceMs)
  }

  async #tool(program: string, words: readonly string[], input = ''): Promise<string> {
    const path = join(process.env['KUBEBUILDER_ASSETS'] ?? '', program)
    const all = [...words, '--kubeconfig', this.cluster.kubeconfig]
    const { code, stdout, stderr } = await runProgram(path, all, input, 2 * patienceMs)
    if (code !== 0) throw new Error(`${program} ${words.join(' ')}: ${stdout}${stderr}`)
    return stdout
  }

  /** Applies the claim of user data, on a folder of the node, and a Model. */
  applyModel(name: string, spec: object): Promise<string> {
    const storage = { accessModes: ['ReadOnlyMany'], storageClassName: '' }
    const hostPath = { path: join(this.cluster.machine.folder, 'data') }
    const objects = [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'userdata' },
        spec: { ...storage, hostPath, capacity: { storage: '1Gi' }, claimRef: { namespace, name: 'userdata' } },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'userdata', namespace },
        spec: { ...storage, volumeName: 'userdata', resources: { requests: { storage: '1Gi' } } },
      },
      { apiVersion: 'sluice.dev/v1', kind: 'Model', metadata: { name, namespace }, spec },
    ]
    return this.kubectl(objects.map((object) => JSON.stringify(object)).join('\n---\n'), 'apply', '-f', '-')
  }

  /** After how many seconds without a request a Model sleeps; `undefined`: as the release says. */
  setIdleWindow(model: string, seconds: string | undefined): Promise<string> {
    const annotation = seconds === undefined ? `${idleWindowAnnotation}-` : `${idleWindowAnnotation}=${seconds}`
    return this.kubectl('', '-n', namespace, 'annotate', 'models', model, annotation)
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.cluster.client.list(podKind, { namespace })).items
  }

  async podsOf(role: string): Promise<readonly Pod[]> {
    return (await this.pods()).filter((pod) => isReadyPodOf(pod, role))
  }

  async untilPodsOf(role: string, count: number): Promise<readonly Pod[]> {
    await until(`${count} Pods of ${role}`, patienceMs, async () => (await this.podsOf(role)).length === count)
    return this.podsOf(role)
  }

  async podsOfModel(model: string): Promise<readonly Pod[]> {
    return (await this.pods()).filter(({ metadata }) => metadata.labels?.['sluice.dev/model'] === model)
  }

  async untilReadyPods(model: string, count: number): Promise<readonly Pod[]> {
    const ready = async () =>
      (await this.podsOfModel(model)).filter(
        ({ metadata, status }) =>
          metadata.deletionTimestamp === undefined &&
          status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
      )
    await until(`${count} ready Pods of ${model}`, patienceMs, async () => (await ready()).length === count)
    return ready()
  }

  async untilAsleep(model: string): Promise<void> {
    await until(`${model} sleeps`, patienceMs, async () => (await this.podsOfModel(model)).length === 0)
  }

  async deletePod({ metadata }: Pod): Promise<void> {
    await this.cluster.client.delete(podKind, { namespace, name: metadata.name }, { uid: metadata.uid })
  }

  async untilGone(...pods: readonly Pod[]): Promise<void> {
    const uids = new Set(pods.map(({ metadata }) => metadata.uid))
    await until('they are gone', patienceMs, async () => {
      return !(await this.pods()).some(({ metadata }) => uids.has(metadata.uid))
    })
  }

  /** The Pod that holds the lease. */
  async leader(): Promise<Pod> {
    const lease = await this.cluster.client.get(leaseKind, { namespace, name: 'sluice-controller' })
    const holder = lease?.spec?.holderIdentity?.split('_')[0]
    const pod = (await this.pods()).find(({ metadata }) => metadata.name === holder)
    if (!pod) throw new Error(`nobody leads: ${JSON.stringify(lease?.spec)}`)
    return pod
  }

  /** Waits until as many controllers say that they lead. */
  untilLeading(count: number): Promise<void> {
    return until(`${count} that lead`, patienceMs, async () => {
      const leading = await this.#figuresOf('controller', 'sluice_controller_leading')
      return leading.filter((is) => is === 1).length === count
    })
  }

  /** Waits until a leader knows the demand of as many gateways. */
  untilGatewaysKnown(count: number): Promise<void> {
    return until(`a leader that knows ${count} gateways`, patienceMs, async () =>
      (await this.#figuresOf('controller', 'sluice_controller_gateways{known="true"}')).includes(count),
    )
  }

  async #figuresOf(role: string, name: string): Promise<readonly number[]> {
    return Promise.all((await this.podsOf(role)).map((pod) => this.figure(pod, name)))
  }

  async serviceAddress(): Promise<string> {
    const service = await this.cluster.client.get(serviceKind, { namespace, name: 'gateway' })
    return `http://${service?.spec.clusterIP ?? ''}:80`
  }

  /**
   * Waits until the node's proxy follows what happens to Services. After an outage of the API server it looks again
   * only when its back-off is over, up to half a minute later, and sends clients to Pods that are long gone until then.
   */
  async untilServicesAreFollowed(): Promise<void> {
    const { client } = this.cluster
    const gateway = await client.get(serviceKind, { namespace, name: 'gateway' })
    const { selector, ports } = gateway?.spec ?? {}
    const made = await client.create(serviceKind, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'followed', namespace },
      spec: { type: 'ClusterIP', selector, ports },
    })
    await until('a new Service is served', patienceMs, () => this.#isServed(made.spec.clusterIP ?? ''))
    await client.delete(serviceKind, { namespace, name: 'followed' })
  }

  #isServed(address: string): Promise<boolean> {
    return new Promise((resolve) => {
      const createConnection = () => this.cluster.machine.dial(address, 80)
      const signal = AbortSignal.timeout(secondsToConnect * 1000)
      http
        .get({ host: address, createConnection, signal }, (response) => {
          response.destroy()
          resolve(true)
        })
        .on('error', () => resolve(false))
    })
  }

  ask(gateway: string, model: string): Promise<Answer> {
    return askModel(gateway, model, (host, port) => this.cluster.machine.dial(host, port))
  }

  askPod(gateway: Pod, model: string): Promise<Answer> {
    return this.ask(addressOf(gateway), model)
  }

  streamFromPod(gateway: Pod, model: string): ComingAnswer {
    return streamModel(addressOf(gateway), model, (host, port) => this.cluster.machine.dial(host, port))
  }

  /** The answers that clients of the Service got, from before something is done until after it. */
  async answersDuring(model: string, clients: number, act: () => Promise<void>): Promise<readonly Answer[]> {
    const service = await this.serviceAddress()
    const load = new RequestLoad(() => this.ask(service, model))
    load.start(clients)
    try {
      await until('an answer', patienceMs, () => load.answered > 0)
      await act()
      const before = load.answered
      await until('answers afterwards', patienceMs, () => load.answered > before + clients)
    } finally {
      await load.stop()
    }
    return load.stop()
  }

  /** One of the figures that a role exports, summed over its labels. */
  async figure(pod: Pod, name: string): Promise<number> {
    const lines = (await this.#get(pod, '/metrics')).split('\n')
    const values = lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }

  /** Waits until a gateway has heard of a Model. */
  async untilListed(gateway: Pod, model: string): Promise<void> {
    const port = Number(new URL(addressOf(gateway)).port)
    await until(`${model} is listed`, patienceMs, async () => {
      return (await this.#get(gateway, '/openai/v1/models', port)).includes(`"${model}"`)
    })
  }

  #get(pod: Pod, path: string, port = healthPort): Promise<string> {
    const { machine } = this.cluster
    const host = pod.status?.podIP ?? ''
    return new Promise((resolve, reject) => {
      const createConnection = () => machine.dial(host, port)
      const signal = AbortSignal.timeout(patienceMs)
      http
        .get({ host, path, createConnection, signal, headers: { connection: 'close' } }, (response) => {
          text(response).then(resolve, reject)
        })
        .on('error', reject)
    })
  }

  /** What the kubelet says of the memory that both containers of a role work with, in bytes. */
  async memoryOf(role: string): Promise<readonly number[]> {
    const names = new Set((await this.untilPodsOf(role, 2)).map(({ metadata }) => metadata.name))
    let used: readonly number[] = []
    // It looks every few seconds.
    await until(`what ${role} takes`, patienceMs, async () => {
      const text = await this.kubectl('', 'get', '--raw', `/api/v1/nodes/${nodeName}/proxy/stats/summary`)
      const own = (JSON.parse(text) as StatsSummary).pods.filter(({ podRef }) => names.has(podRef.name))
      used = own.flatMap(({ containers = [] }) => containers.flatMap(({ memory }) => memory?.workingSetBytes ?? []))
      return used.length === names.size
    })
    return used
  }

  /** Stops the processes of a Pod where they are, and lets them go on. */
  async freeze({ status }: Pod, verb: 'pause' | 'resume'): Promise<void> {
    const container = status?.containerStatuses?.[0]?.containerID?.replace('containerd://', '') ?? ''
    const words = ['--address=/run/containerd.sock', '--namespace=k8s.io', 'tasks', verb, container]
    await this.cluster.machine.run('ctr', ...words)
  }

  /** Everything that the roles' containers have logged so far, as far as the kubelet has kept it. */
  roleLogs(): string {
    const folder = join(this.cluster.machine.folder, 'var/log/pods')
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /^sluice_(controller|gateway|exposure|management|sluice-farewell)-.*\.log$/.test(file))
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .join('')
  }

  /** What the roles logged of requests that the API server refused them, once it knew who may do what. */
  refusals(): string[] {
    return this.roleLogs()
      .split('\n')
      .filter((line) => /forbidden/i.test(line) && this.cluster.wasApiServerReady(timeOf(line)))
  }
}

/** When a line was logged, by the program's own clock: the container runtime may take a while to write it down. */
function timeOf(line: string): number {
  const [, time = line.split(' ', 1)[0] ?? ''] = /"time":"([^"]+)"/.exec(line) ?? []
  return Date.parse(time)
}

function layOutModel(folder: string): void {
  const model = findTestModel() ?? ''
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'model.gguf')
  try {
    linkSync(model, file)
  } catch {
    // Another file system.
    copyFileSync(model, file)
  }
}
