import { hostname } from 'node:os'
import type { ClusterClient, NewObject } from '../cluster/cluster-client.ts'
import { apiKeySpec } from '../management/key-pair.ts'
import { apiKeyKind } from '../resources/api-key.ts'
import { clusterKind, homeLabel } from '../resources/cluster.ts'
import { computeCenterKind } from '../resources/compute-center.ts'
import { endpointSliceKind, serviceNameLabel } from '../resources/endpoint-slice.ts'
import type { Kind } from '../resources/kind.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { gatewayNamespace, gatewayServiceName } from '../resources/model-labels.ts'
import { modelKind } from '../resources/model.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { persistentVolumeClaimKind, userDataClaim } from '../resources/persistent-volume-claim.ts'
import { persistentVolumeKind } from '../resources/persistent-volume.ts'
import { serviceExporterKind } from '../resources/service-exporter.ts'
import { serviceKind } from '../resources/service.ts'
import { isStatusError } from '../resources/status-error.ts'
import { storageClassKind } from '../resources/storage-class.ts'
import { nodeVolumeDriver, nodeVolumeSource, volumeProtection } from '../workloads/claims/node-volume.ts'
import type { Credentials } from './data/identity.ts'
import { modelPathInClaim } from './models/model-storage.ts'

export const demoModelName = 'smollm2'

export interface HomeFacts {
  readonly clusterId: string
  readonly clusterName: string | undefined
  readonly center: CenterFacts
  /** Whether the center's domain counts though the center is there and has another. */
  readonly isDomainAsked: boolean
  readonly credentials: Credentials
  readonly now: number
}

export interface CenterFacts {
  readonly code: string
  readonly proxyDomain: string
  readonly registry: string
}

/** On a single machine, a center's domain is below `localhost`, which needs no DNS server. */
export function centerFacts(code: string): CenterFacts {
  return { code, proxyDomain: `${code}.localhost`, registry: `registry.${code}.localhost` }
}

/** Creates what a home cluster needs before anything runs in it. Objects that exist stay as their owner left them. */
export async function createHomeResources(client: ClusterClient, facts: HomeFacts): Promise<void> {
  for (const name of ['default', 'kube-system', gatewayNamespace]) {
    await createMissing(client, namespaceKind, { metadata: { name } })
  }
  const isNewCenter = await createMissing(client, computeCenterKind, {
    metadata: { name: facts.center.code },
    spec: {
      id: '1',
      code: facts.center.code,
      name: 'This machine',
      nameEn: 'This machine',
      country: 'local',
      address: hostname(),
      onlineDate: new Date(facts.now).toISOString().slice(0, 19).replace('T', ' '),
      proxyDomain: facts.center.proxyDomain,
      registry: facts.center.registry,
    },
  })
  if (!isNewCenter && facts.isDomainAsked) {
    const { code, proxyDomain } = facts.center
    await client.patch(computeCenterKind, { name: code }, { spec: { proxyDomain } })
  }
  const labels = { [homeLabel]: 'up' }
  const isNew = await createMissing(client, clusterKind, {
    metadata: { name: facts.clusterId, labels },
    spec: {
      displayName: facts.clusterName ?? 'home',
      enterprise: facts.credentials.enterprise,
      center: facts.center.code,
    },
  })
  if (!isNew) {
    const spec = facts.clusterName === undefined ? {} : { displayName: facts.clusterName }
    await client.patch(clusterKind, { name: facts.clusterId }, { metadata: { labels }, spec })
  }
  await createMissing(client, apiKeyKind, {
    metadata: { name: facts.credentials.accessKey.toLowerCase() },
    spec: apiKeySpec(facts.credentials, facts.credentials.enterprise),
  })
  await createStorageClass(client)
  await createUserDataVolume(client)
  await createUserDataClaim(client)
}

/** Creates what every other cluster needs before anything runs in it. */
export async function createClusterResources(client: ClusterClient): Promise<void> {
  await Promise.all([
    createMissing(client, namespaceKind, { metadata: { name: gatewayNamespace } }),
    createStorageClass(client),
    createUserDataVolume(client),
  ])
  await createUserDataClaim(client)
}

/** The default class, for claims that name none. */
async function createStorageClass(client: ClusterClient): Promise<void> {
  await createMissing(client, storageClassKind, {
    metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: nodeVolumeDriver,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'Immediate',
    allowVolumeExpansion: true,
  })
}

const [accessModes, storage] = [['ReadWriteMany'], '1Ti']

/** The volume for user data. It is kept even if its claim is deleted. */
async function createUserDataVolume(client: ClusterClient): Promise<void> {
  await createMissing(client, persistentVolumeKind, {
    metadata: { name: userDataClaim, finalizers: [volumeProtection] },
    spec: {
      capacity: { storage },
      accessModes,
      persistentVolumeReclaimPolicy: 'Retain',
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace: gatewayNamespace,
        name: userDataClaim,
      },
      csi: nodeVolumeSource(userDataClaim),
    },
  })
}

async function createUserDataClaim(client: ClusterClient): Promise<void> {
  await createMissing(client, persistentVolumeClaimKind, {
    metadata: { name: userDataClaim, namespace: gatewayNamespace },
    spec: { accessModes, resources: { requests: { storage } }, volumeName: userDataClaim },
  })
}

/** Records the current addresses, since a restart on other ports changes them. */
export async function recordAddresses(
  client: ClusterClient,
  facts: {
    readonly center: string
    readonly clusterId: string
    readonly management: string
    readonly controlPlane: string
  },
): Promise<void> {
  await client.patch(computeCenterKind, { name: facts.center }, { spec: { endpoint: facts.management } })
  const cluster = await client.get(clusterKind, { name: facts.clusterId })
  if (!cluster) return
  const status = { ...cluster.status, id: facts.clusterId, controlPlane: facts.controlPlane }
  await client.updateStatus(clusterKind, { ...cluster, status })
}

/** The gateway as the cluster sees it: a Service without a selector, whose only endpoint is this process. */
export async function createGatewayResources(
  client: ClusterClient,
  address: { readonly host: string; readonly port: number },
): Promise<void> {
  const port = 80
  await createMissing(client, serviceKind, {
    metadata: { name: gatewayServiceName, namespace: gatewayNamespace },
    spec: { ports: [{ name: 'http', port }] },
  })
  const slice = {
    metadata: {
      name: gatewayServiceName,
      namespace: gatewayNamespace,
      labels: { [serviceNameLabel]: gatewayServiceName },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address.host], conditions: { ready: true, serving: true, terminating: false } }],
    ports: [{ name: 'http', port: address.port, protocol: 'TCP' }],
  }
  if (!(await createMissing(client, endpointSliceKind, slice))) {
    await client.patch(endpointSliceKind, slice.metadata, { endpoints: slice.endpoints, ports: slice.ports })
  }
  await createMissing(client, serviceExporterKind, {
    metadata: { name: gatewayServiceName, namespace: gatewayNamespace },
    spec: { serviceName: gatewayServiceName, servicePort: port },
  })
}

/**
 * A small real model to start with. It is created at the first start of a data directory only, so that a user can
 * delete it for good.
 */
export async function createDemoModel(client: ClusterClient): Promise<void> {
  await createMissing(client, modelKind, {
    metadata: { name: demoModelName, namespace: gatewayNamespace },
    spec: {
      features: ['TextGeneration'],
      owner: 'HuggingFaceTB',
      url: `pvc://${userDataClaim}/${modelPathInClaim(demoModelName)}`,
      engine: 'LlamaCpp',
      resourceProfile: 'default:1',
      minReplicas: 0,
      maxReplicas: 2,
      targetRequests: 8,
      scaleDownDelaySeconds: 0,
    },
  })
}

/** True if it was missing. */
export async function createMissing<T extends KubernetesObject>(
  client: ClusterClient,
  kind: Kind<T>,
  object: NewObject<T>,
): Promise<boolean> {
  try {
    await client.create(kind, object)
    return true
  } catch (error) {
    if (isStatusError(error, 'AlreadyExists')) return false
    throw error
  }
}
