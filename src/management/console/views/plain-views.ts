import type { ApiKey } from '../../../resources/api-key.ts'
import { type Cluster, clusterIdOf, isAttached } from '../../../resources/cluster.ts'
import type { ComputeCenter } from '../../../resources/compute-center.ts'
import type { ServiceExporter } from '../../../resources/service-exporter.ts'
import type { CenterView, ClusterView, ExposureView, KeyView } from '../console-shapes.ts'

// Resources of which the console shows a few fields as they are.

export function exposureView({ metadata, spec, status }: ServiceExporter): ExposureView {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    service: spec.serviceName,
    port: spec.servicePort,
    url: status?.url,
    ready: ready?.status === 'True',
    message: ready?.message,
  }
}

export function clusterView(cluster: Cluster): ClusterView {
  const { metadata, spec, status } = cluster
  return {
    name: metadata.name,
    displayName: spec.displayName,
    id: clusterIdOf(cluster),
    enterprise: spec.enterprise,
    center: spec.center,
    phase: status?.phase ?? 'Creating',
    attached: isAttached(cluster),
    controlPlane: status?.controlPlane,
  }
}

export function centerView({ spec }: ComputeCenter): CenterView {
  const { code, name, nameEn, country, address, registry, proxyDomain } = spec
  return { code, name, nameEn, country, address, registry, proxyDomain }
}

export function keyView({ metadata, spec }: ApiKey): KeyView {
  const { accessKey, use, disabled, expiresAt, allowedModels } = spec
  return {
    name: metadata.name,
    accessKey,
    use,
    disabled,
    expiresAt,
    allowedModels,
    createdAt: metadata.creationTimestamp ?? undefined,
  }
}
