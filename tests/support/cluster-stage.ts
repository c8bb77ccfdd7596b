import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { cgroupPlaces } from '../../src/node/isolation/cgroup-places.ts'
import { type Cluster, type ClusterStatus, clusterKind } from '../../src/resources/cluster.ts'
import { type Pod, podKind } from '../../src/resources/pod.ts'
import { managementCredential } from './management-credential.ts'
import { type SluiceProcess, until } from './sluice-process.ts'

const run = promisify(execFile)
const sluiceProgram = fileURLToPath(new URL('../../bin/sluice', import.meta.url))

export const card = 'nvidia.com/gpu-l40s'

/** `sluice cluster …` as its user calls it, at the home cluster of a data directory. */
export async function sluiceCluster(data: string, ...words: string[]): Promise<string> {
  const { stdout } = await run(sluiceProgram, ['cluster', ...words, '--data', data])
  return stdout
}

/** A client of the cluster's administrator, with nothing but the kubeconfig that `sluice cluster kubeconfig` prints. */
export async function administratorOf(
  sluice: SluiceProcess,
  name: string,
): Promise<{ readonly client: KubernetesClient; readonly kubeconfig: string }> {
  const kubeconfig = join(sluice.data, `${name}.kubeconfig`)
  writeFileSync(kubeconfig, await sluiceCluster(sluice.data, 'kubeconfig', name), { mode: 0o600 })
  return { client: await connectKubernetes(kubeconfig), kubeconfig }
}

export async function untilPhase(client: KubernetesClient, name: string, phase: ClusterStatus): Promise<Cluster> {
  let found: Cluster | undefined
  await until(`the cluster ${name} to be ${phase}`, 60_000, async () => {
    found = await client.get(clusterKind, { name })
    return found?.status?.phase === phase
  })
  if (!found) throw new Error(`there is no cluster ${name}`)
  return found
}

export const reasonOf = ({ status }: Cluster) => status?.conditions?.find(({ type }) => type === 'Ready')?.reason
export const messageOf = ({ status }: Cluster) => status?.conditions?.find(({ type }) => type === 'Ready')?.message

/** A Pod that goes on until it is stopped. */
export function podWith(sluice: SluiceProcess, name: string, limits: Record<string, string> = {}) {
  const image = `${sluice.endpoints.registry}/sluice/sluice:1`
  const script = `echo this is ${name}; exec sleep 100000`
  const container = { name: 'main', image, command: ['/bin/sh', '-c', script], resources: { limits } }
  return {
    metadata: { name, namespace: 'default', labels: { app: name } },
    spec: { containers: [container], terminationGracePeriodSeconds: 1 },
  }
}

export async function untilPod(
  client: KubernetesClient,
  name: string,
  what: string,
  holds: (pod: Pod | undefined) => boolean,
): Promise<Pod | undefined> {
  let pod: Pod | undefined
  await until(`the Pod ${name} to be ${what}`, 60_000, async () => {
    pod = await client.get(podKind, { namespace: 'default', name })
    return holds(pod)
  })
  return pod
}

export const isRunning = (pod: Pod | undefined) => pod?.status?.phase === 'Running'

/**
 * How much memory the kernel lets all Pods of a cluster have together, of which one has a container of this process.
 */
export function memoryOfAll(pid: number): number {
  // Where it has namespaces, its first process is the child of the one that made them, which is in no group.
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  const membership = readFileSync(`/proc/${child || pid}/cgroup`, 'utf8')
  const unified = (folder: string) => readFileSync(join(folder, 'cgroup.controllers'), 'utf8').trim().split(' ')
  const place = cgroupPlaces(readFileSync('/proc/self/mountinfo', 'utf8'), membership, unified).get('memory')
  if (!place) throw new Error('it is in no group of memory')
  const files = ['memory.max', 'memory.limit_in_bytes'].map((name) => join(dirname(place.folder), name))
  return Number(readFileSync(files.find((file) => existsSync(file)) ?? '', 'utf8'))
}

export const pidOf = (pod: Pod | undefined) =>
  Number(pod?.status?.containerStatuses?.[0]?.containerID?.replace('process://', ''))

export interface Figures {
  readonly code: number
  readonly data?: {
    readonly id: string
    readonly name: string
    readonly status: string
    readonly utilizationRate: {
      readonly gpu: ReadonlyArray<{ readonly name: string; readonly hard: number; readonly used: number }>
      readonly mem: { readonly hard: number; readonly used: number }
      readonly cpu: { readonly hard: number; readonly used: number }
    }
  }
}

/** What the management API says of a cluster. */
export async function figuresOf(sluice: SluiceProcess, id: string): Promise<Figures> {
  const authorization = managementCredential(sluice.data)
  const answer = await fetch(`${sluice.endpoints.management}/api/vks/v1/${id}`, { headers: { authorization } })
  return (await answer.json()) as Figures
}
