import { apiKeyKind } from './api-key.ts'
import { clusterKind } from './cluster.ts'
import { computeCenterKind } from './compute-center.ts'
import { configMapKind } from './config-map.ts'
import { controllerRevisionKind } from './controller-revision.ts'
import { customResourceDefinitionKind } from './custom-resource-definition-kind.ts'
import { deploymentKind } from './deployment.ts'
import { endpointSliceKind } from './endpoint-slice.ts'
import { endpointsKind } from './endpoints.ts'
import { eventKind } from './event.ts'
import { ingressClassKind, ingressKind } from './ingress.ts'
import { jobKind } from './job.ts'
import type { Kind } from './kind.ts'
import { leaseKind } from './lease.ts'
import { modelKind } from './model.ts'
import { namespaceKind } from './namespace.ts'
import { networkPolicyKind } from './network-policy.ts'
import { newEventKind } from './new-event.ts'
import { nodeKind } from './node.ts'
import { persistentVolumeClaimKind } from './persistent-volume-claim.ts'
import { persistentVolumeKind } from './persistent-volume.ts'
import { podTemplateKind } from './pod-template-kind.ts'
import { podKind } from './pod.ts'
import { replicaSetKind } from './replica-set.ts'
import { metricsKinds } from './resource-metrics.ts'
import { resourceQuotaKind } from './resource-quota.ts'
import { reviewKinds } from './reviews.ts'
import { clusterRoleBindingKind, roleBindingKind } from './role-binding.ts'
import { clusterRoleKind, roleKind } from './role.ts'
import { runtimeClassKind } from './runtime-class.ts'
import { secretKind } from './secret.ts'
import { serviceAccountKind } from './service-account.ts'
import { ipAddressKind, serviceCidrKind } from './service-addressing-kinds.ts'
import { serviceExporterKind } from './service-exporter.ts'
import { serviceKind } from './service.ts'
import { statefulSetKind } from './stateful-set.ts'
import { storageClassKind } from './storage-class.ts'
import { usageRecordKind } from './usage-record.ts'
import { validatingAdmissionPolicyBindingKind, validatingAdmissionPolicyKind } from './validating-admission-policy.ts'

/** Kubernetes' own kinds that the embedded cluster serves. */
export const coreKinds: readonly Kind[] = [
  configMapKind,
  endpointsKind,
  eventKind,
  namespaceKind,
  nodeKind,
  persistentVolumeClaimKind,
  persistentVolumeKind,
  podKind,
  podTemplateKind,
  resourceQuotaKind,
  secretKind,
  serviceAccountKind,
  serviceKind,
  validatingAdmissionPolicyBindingKind,
  validatingAdmissionPolicyKind,
  customResourceDefinitionKind,
  controllerRevisionKind,
  deploymentKind,
  replicaSetKind,
  statefulSetKind,
  ...reviewKinds,
  ...metricsKinds,
  jobKind,
  leaseKind,
  endpointSliceKind,
  newEventKind,
  ingressClassKind,
  ingressKind,
  ipAddressKind,
  networkPolicyKind,
  serviceCidrKind,
  runtimeClassKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
  storageClassKind,
]

/** Our kinds, which are CustomResourceDefinitions on a real Kubernetes. */
export const customKinds: readonly Kind[] = [
  apiKeyKind,
  clusterKind,
  computeCenterKind,
  modelKind,
  serviceExporterKind,
  usageRecordKind,
]

/**
 * The kinds that are stored: no reviews, no measurements, and of kinds that are views of each other only the stored
 * one.
 */
export const storedKinds: readonly Kind[] = [...coreKinds, ...customKinds].filter(
  ({ verbs, storage }) => verbs === undefined && storage === undefined,
)
