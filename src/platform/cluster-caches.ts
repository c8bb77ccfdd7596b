import type { ObjectCache } from '../cluster/informer.ts'
import { type ApiKey, apiKeyKind } from '../resources/api-key.ts'
import { type Cluster, clusterKind } from '../resources/cluster.ts'
import { type ComputeCenter, computeCenterKind } from '../resources/compute-center.ts'
import { type EndpointSlice, endpointSliceKind } from '../resources/endpoint-slice.ts'
import { type Model, modelKind } from '../resources/model.ts'
import { type Namespace, namespaceKind } from '../resources/namespace.ts'
import { type NetworkPolicy, networkPolicyKind } from '../resources/network-policy.ts'
import { type Node, nodeKind } from '../resources/node.ts'
import { type Pod, podKind } from '../resources/pod.ts'
import { gatewayNamespace } from '../resources/model-labels.ts'
import { type Secret, secretKind, tlsSecretType } from '../resources/secret.ts'
import { type ServiceExporter, serviceExporterKind } from '../resources/service-exporter.ts'
import { type Service, serviceKind } from '../resources/service.ts'
import { type UsageRecord, usageRecordKind } from '../resources/usage-record.ts'
import type { Informers } from './informers.ts'

/** The caches of one cluster. All roles of this process share them, so that each kind is watched only once. */
export interface ClusterCaches {
  readonly pods: ObjectCache<Pod>
  readonly nodes: ObjectCache<Node>
  /** Secrets that hold certificates, in all namespaces. */
  readonly tlsSecrets: ObjectCache<Secret>
  readonly services: ObjectCache<Service>
  readonly slices: ObjectCache<EndpointSlice>
  readonly exporters: ObjectCache<ServiceExporter>
  readonly namespaces: ObjectCache<Namespace>
  readonly policies: ObjectCache<NetworkPolicy>
}

/** The home cluster has the gateway and describes all clusters, so it has more caches. */
export interface HomeCaches extends ClusterCaches {
  readonly models: ObjectCache<Model>
  /** Only those in the Models' namespace. */
  readonly secrets: ObjectCache<Secret>
  readonly keys: ObjectCache<ApiKey>
  readonly centers: ObjectCache<ComputeCenter>
  readonly clusters: ObjectCache<Cluster>
  readonly usage: ObjectCache<UsageRecord>
}

/** The caches that cluster DNS needs. */
export type DnsCaches = Pick<ClusterCaches, 'services' | 'slices' | 'pods' | 'namespaces'>

/** The caches that the edge needs. */
export type EdgeCaches = Pick<ClusterCaches, 'pods' | 'nodes' | 'tlsSecrets' | 'services' | 'slices' | 'exporters'>

export function edgeCaches(informers: Informers): EdgeCaches {
  return {
    pods: informers.add(podKind),
    nodes: informers.add(nodeKind),
    tlsSecrets: informers.add(secretKind, { fields: { type: tlsSecretType } }),
    services: informers.add(serviceKind),
    slices: informers.add(endpointSliceKind),
    exporters: informers.add(serviceExporterKind),
  }
}

export function clusterCaches(informers: Informers): ClusterCaches {
  return {
    ...edgeCaches(informers),
    namespaces: informers.add(namespaceKind),
    policies: informers.add(networkPolicyKind),
  }
}

export function homeCaches(informers: Informers, shared: ClusterCaches): HomeCaches {
  return {
    ...shared,
    models: informers.add(modelKind),
    secrets: informers.add(secretKind, { namespace: gatewayNamespace }),
    keys: informers.add(apiKeyKind),
    centers: informers.add(computeCenterKind),
    clusters: informers.add(clusterKind),
    usage: informers.add(usageRecordKind, { namespace: gatewayNamespace }),
  }
}
