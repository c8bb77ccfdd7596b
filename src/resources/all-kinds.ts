import type { Kind } from './kind.ts'
import { apiKeyKind } from './api-key.ts'
import { clusterKind } from './cluster.ts'
import { computeCenterKind } from './compute-center.ts'
import { configMapKind } from './config-map.ts'
import { endpointSliceKind } from './endpoint-slice.ts'
import { eventKind } from './event.ts'
import { modelKind } from './model.ts'
import { namespaceKind } from './namespace.ts'
import { nodeKind } from './node.ts'
import { persistentVolumeClaimKind } from './persistent-volume-claim.ts'
import { podKind } from './pod.ts'
import { secretKind } from './secret.ts'
import { serviceExporterKind } from './service-exporter.ts'
import { serviceKind } from './service.ts'

/** The kinds of Kubernetes' own that the embedded cluster serves. */
export const coreKinds: readonly Kind[] = [
  configMapKind,
  endpointSliceKind,
  eventKind,
  namespaceKind,
  nodeKind,
  persistentVolumeClaimKind,
  podKind,
  secretKind,
  serviceKind,
]

/** Ours: on a real Kubernetes they are CustomResourceDefinitions. */
export const customKinds: readonly Kind[] = [apiKeyKind, clusterKind, computeCenterKind, modelKind, serviceExporterKind]
