import { systemClock } from '../src/foundation/clock.ts'
import { type Logger, silentLogger } from '../src/foundation/log.ts'
import { Metrics } from '../src/foundation/metrics.ts'
import { apiKeySpec, generateKeyPair } from '../src/management/key-pair.ts'
import { ManagementServer } from '../src/management/management-server.ts'
import { type ApiKey, apiKeySchema } from '../src/resources/api-key.ts'
import { clusterSchema } from '../src/resources/cluster.ts'
import { type ComputeCenter, computeCenterSchema } from '../src/resources/compute-center.ts'
import { type Node, nodeSchema } from '../src/resources/node.ts'
import { HeldObjects } from '../src/resources/object-cache.ts'
import { type Pod, podSchema } from '../src/resources/pod.ts'

const podsPerCluster = 20

/** The management API over so many clusters, each with a node and Pods, and a key pair that opens them. */
export async function startManagement(clusterCount: number, log: Logger = silentLogger) {
  const keys = new HeldObjects<ApiKey>()
  const centers = new HeldObjects<ComputeCenter>()
  keys.synced = true
  centers.synced = true
  const pair = generateKeyPair()
  const common = { apiVersion: 'sluice.dev/v1' }
  const spec = apiKeySpec(pair, 'home')
  keys.put(apiKeySchema.parse({ ...common, kind: 'ApiKey', metadata: { name: 'bench' }, spec }))
  centers.put(
    computeCenterSchema.parse({ ...common, kind: 'ComputeCenter', metadata: { name: 'local-1' }, spec: center }),
  )
  const views = new Map(Array.from({ length: clusterCount }, (_, index) => [`vks${index}`, viewOf(`vks${index}`)]))
  const server = new ManagementServer({
    host: '127.0.0.1',
    port: 0,
    keys,
    centers,
    clusters: { find: (id) => views.get(id) },
    clock: systemClock,
    log,
    metrics: new Metrics(),
  })
  await server.start()
  const authorization = `plain Credential=${pair.accessKey},Signature=${pair.secretKey}`
  return { server, authorization, url: `http://127.0.0.1:${server.port}` }
}

const center = {
  id: '1',
  code: 'local-1',
  name: 'Local',
  nameEn: 'Local',
  country: 'here',
  address: 'this machine',
  proxyDomain: 'local-1.localhost',
  registry: 'registry.local-1.localhost',
}

export function viewOf(id: string) {
  const cluster = clusterSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Cluster',
    metadata: { name: id },
    spec: { displayName: id, enterprise: 'home', center: 'local-1' },
  })
  const allocatable = { cpu: '64', memory: '256Gi', 'nvidia.com/gpu-l40s': '8' }
  const status = { allocatable, conditions: [{ type: 'Ready', status: 'True' }] }
  const nodes = new HeldObjects<Node>()
  const pods = new HeldObjects<Pod>()
  nodes.put(nodeSchema.parse({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status }))
  for (let index = 0; index < podsPerCluster; index += 1) pods.put(podOf(`pod-${index}`))
  nodes.synced = true
  pods.synced = true
  return { cluster, nodes, pods }
}

function podOf(name: string): Pod {
  const resources = { requests: { cpu: '500m', memory: '1Gi' } }
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { nodeName: 'n', containers: [{ name: 'main', image: 'registry.local-1.localhost/a', resources }] },
    status: { phase: 'Running' },
  })
}
