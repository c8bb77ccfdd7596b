import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'

type Complete = (value: JsonObject) => JsonObject

const core = 'io.k8s.api.core.v1.'
const apps = 'io.k8s.api.apps.v1.'
const fileMode = 0o644

/** Fills in what is not there; empty text counts as that, since Kubernetes cannot tell the two apart either. */
function missing(defaults: JsonObject): Complete {
  return (value) => {
    let result: Record<string, unknown> | undefined
    for (const [field, given] of Object.entries(defaults)) {
      if (isUnset(value[field])) (result ??= { ...value })[field] = given
    }
    return result ?? value
  }
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** Of numbers for which 0 says nothing. */
function missingOrZero(defaults: Readonly<Record<string, number>>): Complete {
  return (value) => {
    let result: Record<string, unknown> | undefined
    for (const [field, given] of Object.entries(defaults)) if (!value[field]) (result ??= { ...value })[field] = given
    return result ?? value
  }
}

const container = missing({
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  resources: {},
})
const withPullPolicy: Complete = (value) => missing({ imagePullPolicy: pullPolicyOf(value['image']) })(container(value))

/** What Kubernetes adds to values of its types, by the name of the type: the same in a Pod and in what is a template of one. */
const typeDefaults: Readonly<Record<string, Complete>> = {
  [`${core}PodSpec`]: missing({
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  }),
  [`${core}Container`]: withPullPolicy,
  [`${core}EphemeralContainer`]: withPullPolicy,
  [`${core}ContainerPort`]: missing({ protocol: 'TCP' }),
  [`${core}Probe`]: missingOrZero({ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }),
  [`${core}HTTPGetAction`]: missing({ path: '/', scheme: 'HTTP' }),
  [`${core}ObjectFieldSelector`]: missing({ apiVersion: 'v1' }),
  [`${core}Volume`]: (value) =>
    Object.entries(value).some(([field, source]) => field !== 'name' && source !== null)
      ? value
      : { ...value, emptyDir: {} },
  [`${core}ImageVolumeSource`]: (value) => missing({ pullPolicy: pullPolicyOf(value['reference']) })(value),
  [`${core}SecretVolumeSource`]: missing({ defaultMode: fileMode }),
  [`${core}ConfigMapVolumeSource`]: missing({ defaultMode: fileMode }),
  [`${core}DownwardAPIVolumeSource`]: missing({ defaultMode: fileMode }),
  [`${core}ProjectedVolumeSource`]: missing({ defaultMode: fileMode }),
  [`${core}ServiceAccountTokenProjection`]: missing({ expirationSeconds: 3600 }),
  [`${core}HostPathVolumeSource`]: missing({ type: '' }),
  [`${core}PersistentVolumeClaimSpec`]: missing({ volumeMode: 'Filesystem', resources: {} }),
  [`${core}PersistentVolumeSpec`]: missing({ volumeMode: 'Filesystem', persistentVolumeReclaimPolicy: 'Retain' }),
  [`${core}ServiceSpec`]: serviceSpec,
  [`${core}ServicePort`]: (value) => {
    const { port, targetPort } = value
    return { ...value, protocol: value['protocol'] || 'TCP', targetPort: targetPort || port }
  },
  'io.k8s.api.networking.v1.IngressClassParametersReference': missing({ scope: 'Cluster' }),
  [`${core}EndpointPort`]: missing({ protocol: 'TCP' }),
  [`${core}Event`]: missing({ involvedObject: {}, source: {}, reportingComponent: '', reportingInstance: '' }),
  [`${core}Secret`]: missing({ type: 'Opaque' }),
  [`${core}NodeStatus`]: (value) => missing(value['capacity'] ? { allocatable: value['capacity'] } : {})(value),
  [`${apps}DeploymentSpec`]: missing({
    replicas: 1,
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
    strategy: {},
  }),
  [`${apps}DeploymentStrategy`]: (value) => {
    const typed = missing({ type: 'RollingUpdate' })(value)
    return typed['type'] === 'RollingUpdate' ? missing({ rollingUpdate: {} })(typed) : typed
  },
  [`${apps}RollingUpdateDeployment`]: missing({ maxUnavailable: '25%', maxSurge: '25%' }),
  [`${apps}ReplicaSetSpec`]: missing({ replicas: 1 }),
  [`${apps}StatefulSetSpec`]: missing({
    replicas: 1,
    revisionHistoryLimit: 10,
    serviceName: '',
    podManagementPolicy: 'OrderedReady',
    updateStrategy: {},
    persistentVolumeClaimRetentionPolicy: {},
  }),
  [`${apps}StatefulSetUpdateStrategy`]: (value) =>
    isUnset(value['type']) ? { rollingUpdate: {}, ...value, type: 'RollingUpdate' } : value,
  [`${apps}RollingUpdateStatefulSetStrategy`]: missing({ partition: 0 }),
  [`${apps}StatefulSetPersistentVolumeClaimRetentionPolicy`]: missing({ whenDeleted: 'Retain', whenScaled: 'Retain' }),
  'io.k8s.api.batch.v1.JobSpec': jobSpec,
  'io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern': missing({ status: 'True' }),
  'io.k8s.api.events.v1.Event': missing({ deprecatedSource: {} }),
  'io.k8s.api.discovery.v1.EndpointPort': missing({ name: '', protocol: 'TCP' }),
  'io.k8s.api.networking.v1.NetworkPolicyPort': (value) => ({ ...value, protocol: value['protocol'] ?? 'TCP' }),
  'io.k8s.api.networking.v1.NetworkPolicySpec': networkPolicySpec,
  'io.k8s.api.rbac.v1.RoleRef': missing({ apiGroup: 'rbac.authorization.k8s.io' }),
  'io.k8s.api.rbac.v1.Subject': (value) =>
    value['kind'] === 'User' || value['kind'] === 'Group'
      ? missing({ apiGroup: 'rbac.authorization.k8s.io' })(value)
      : value,
  'io.k8s.api.storage.v1.StorageClass': missing({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }),
}

/** Parts that are there even when nothing is said about them. */
const alwaysThere: Readonly<Record<string, readonly string[]>> = {
  [`${core}Pod`]: ['spec'],
  [`${core}PodTemplateSpec`]: ['metadata', 'spec'],
  [`${core}Service`]: ['spec'],
  [`${core}PersistentVolumeClaim`]: ['spec'],
  [`${core}PersistentVolumeClaimTemplate`]: ['metadata', 'spec'],
  [`${core}PersistentVolume`]: ['spec'],
  [`${core}Node`]: ['spec'],
  [`${core}ResourceQuota`]: ['spec'],
  [`${apps}Deployment`]: ['spec'],
  [`${apps}DeploymentSpec`]: ['template'],
  [`${apps}ReplicaSet`]: ['spec'],
  [`${apps}ReplicaSetSpec`]: ['template'],
  [`${apps}StatefulSet`]: ['spec'],
  [`${apps}StatefulSetSpec`]: ['template'],
  'io.k8s.api.batch.v1.Job': ['spec'],
  'io.k8s.api.batch.v1.JobSpec': ['template'],
  'io.k8s.api.coordination.v1.Lease': ['spec'],
  'io.k8s.api.networking.v1.NetworkPolicy': ['spec'],
  'io.k8s.api.rbac.v1.RoleBinding': ['roleRef'],
  'io.k8s.api.rbac.v1.ClusterRoleBinding': ['roleRef'],
}

/** A value of a named type, with everything that its type adds to it. */
export function withTypeDefaults(type: string, value: JsonObject): JsonObject {
  const parts = alwaysThere[type]
  const whole = parts ? { ...Object.fromEntries(parts.map((part) => [part, {}])), ...value } : value
  return typeDefaults[type]?.(whole) ?? whole
}

/** `Always` for what may change under its name: no tag, or `latest`. */
function pullPolicyOf(image: unknown): string {
  if (typeof image !== 'string') return 'IfNotPresent'
  const last = image.slice(image.lastIndexOf('/') + 1)
  const colon = last.indexOf(':')
  const isTagged = colon >= 0 && colon < last.length - 1
  return image.endsWith(':latest') || !(isTagged || image.includes('@')) ? 'Always' : 'IfNotPresent'
}

function serviceSpec(value: JsonObject): JsonObject {
  const { sessionAffinityConfig, ...spec } = missing({ type: 'ClusterIP', sessionAffinity: 'None' })(value)
  const inside = spec['type'] === 'ExternalName' ? {} : { internalTrafficPolicy: 'Cluster' }
  if (spec['sessionAffinity'] !== 'ClientIP') return missing(inside)(spec)
  const given = isJsonObject(sessionAffinityConfig) ? sessionAffinityConfig : {}
  const clientIP = { timeoutSeconds: 10_800, ...(isJsonObject(given['clientIP']) ? given['clientIP'] : {}) }
  return { ...missing(inside)(spec), sessionAffinityConfig: { ...given, clientIP } }
}

/** Who says nothing of egress says nothing about it. */
function networkPolicySpec(value: JsonObject): JsonObject {
  const { egress, policyTypes } = value
  if (Array.isArray(policyTypes) && policyTypes.length > 0) return missing({ podSelector: {} })(value)
  const saysEgress = Array.isArray(egress) && egress.length > 0
  return { podSelector: {}, ...value, policyTypes: saysEgress ? ['Ingress', 'Egress'] : ['Ingress'] }
}

function jobSpec(value: JsonObject): JsonObject {
  const single = value['completions'] === undefined && value['parallelism'] === undefined
  return missing({
    ...(single && { completions: 1 }),
    parallelism: 1,
    backoffLimit: value['backoffLimitPerIndex'] === undefined ? 6 : 2_147_483_647,
    completionMode: 'NonIndexed',
    manualSelector: false,
    podReplacementPolicy: value['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed',
    suspend: false,
  })(value)
}
