import { z } from 'zod'
import { ageOf, coreAgeColumn } from './columns/age.ts'
import { coreKind } from './core-kind.ts'
import { coreV1, proxyVerbs } from './kind-facts.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'
import { completePod } from './pod-completion.ts'
import { podQualityOfService } from './pod-quality.ts'
import { podTypes } from './pod-types.ts'
import { core } from './type-rules.ts'
import { listIn } from './validation/json-access.ts'
import { checkPod } from './validation/pod-rules.ts'
import { checkPodUpdate } from './validation/pod-update-rules.ts'

const quantities = z.record(z.string(), z.union([z.string(), z.number()]).transform(String))

const envVarSchema = z.looseObject({
  name: z.string().min(1),
  value: z.string().optional(),
  valueFrom: z.looseObject({}).optional(),
})

export const probeSchema = z.looseObject({
  httpGet: z
    .looseObject({ path: z.string().default('/'), port: z.union([z.int(), z.string()]), host: z.string().optional() })
    .optional(),
  tcpSocket: z.looseObject({ port: z.union([z.int(), z.string()]) }).optional(),
  exec: z.looseObject({ command: z.array(z.string()).optional() }).optional(),
  grpc: z.looseObject({ port: z.int(), service: z.string().optional() }).optional(),
  initialDelaySeconds: z.int().min(0).optional(),
  periodSeconds: z.int().min(1).optional(),
  timeoutSeconds: z.int().min(1).optional(),
  successThreshold: z.int().min(1).optional(),
  failureThreshold: z.int().min(1).optional(),
})

export type Probe = z.infer<typeof probeSchema>

const portSchema = z.looseObject({
  name: z.string().optional(),
  containerPort: z.int().min(1).max(65535),
  protocol: z.string().default('TCP'),
})

const containerSchema = z.looseObject({
  name: z.string().min(1),
  image: z.string().optional(),
  command: z.array(z.string()).optional(),
  args: z.array(z.string()).optional(),
  workingDir: z.string().optional(),
  env: z.array(envVarSchema).optional(),
  ports: z.array(portSchema).optional(),
  resources: z.looseObject({ requests: quantities.optional(), limits: quantities.optional() }).optional(),
  volumeMounts: z
    .array(
      z.looseObject({
        name: z.string(),
        mountPath: z.string(),
        subPath: z.string().optional(),
        readOnly: z.boolean().optional(),
      }),
    )
    .optional(),
  /** On an init container, `Always` makes it a sidecar. */
  restartPolicy: z.string().optional(),
  startupProbe: probeSchema.optional(),
  readinessProbe: probeSchema.optional(),
  livenessProbe: probeSchema.optional(),
})

export type Container = z.infer<typeof containerSchema>

const volumeSchema = z.looseObject({
  name: z.string(),
  persistentVolumeClaim: z.looseObject({ claimName: z.string(), readOnly: z.boolean().optional() }).optional(),
  emptyDir: z.looseObject({}).optional(),
})

const containerStateSchema = z.looseObject({
  waiting: z.looseObject({ reason: z.string().optional(), message: z.string().optional() }).optional(),
  running: z.looseObject({ startedAt: z.string().optional() }).optional(),
  terminated: z
    .looseObject({
      exitCode: z.int(),
      signal: z.int().optional(),
      reason: z.string().optional(),
      message: z.string().optional(),
      startedAt: z.string().optional(),
      finishedAt: z.string().optional(),
    })
    .optional(),
})

export type ContainerState = z.infer<typeof containerStateSchema>

const containerStatusSchema = z.looseObject({
  name: z.string(),
  ready: z.boolean(),
  started: z.boolean().optional(),
  restartCount: z.int(),
  image: z.string(),
  imageID: z.string(),
  containerID: z.string().optional(),
  state: containerStateSchema.optional(),
  lastState: containerStateSchema.optional(),
})

export type ContainerStatus = z.infer<typeof containerStatusSchema>

export const podPhases = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'] as const

export const podSpecSchema = z.looseObject({
  containers: z.array(containerSchema).min(1, 'name at least one container'),
  initContainers: z.array(containerSchema).optional(),
  /** Added to a running Pod, to inspect the others. */
  ephemeralContainers: z.array(containerSchema.extend({ targetContainerName: z.string().optional() })).optional(),
  volumes: z.array(volumeSchema).optional(),
  nodeName: z.string().optional(),
  nodeSelector: z.record(z.string(), z.string()).optional(),
  restartPolicy: z.enum(['Always', 'OnFailure', 'Never']).default('Always'),
  terminationGracePeriodSeconds: z.int().min(0).default(30),
  /** How long the Pod may be active on its node, from when the node accepted it. */
  activeDeadlineSeconds: z.int().optional(),
  imagePullSecrets: z.array(z.looseObject({ name: z.string().optional() })).optional(),
  runtimeClassName: z.string().optional(),
  /** What running the Pod takes besides its containers, which admission copies from its runtime class. */
  overhead: quantities.optional(),
  readinessGates: z.array(z.looseObject({ conditionType: z.string() })).optional(),
  /** As long as there is one, the Pod is not placed. */
  schedulingGates: z.array(z.looseObject({ name: z.string() })).optional(),
})

export type PodSpec = z.infer<typeof podSpecSchema>

/** An API server has no times for the condition that it gives a new Pod with gates. */
const noTime = z
  .string()
  .nullish()
  .transform((time) => time ?? undefined)
  .optional()
const podConditionSchema = conditionSchema.loose().extend({ lastTransitionTime: noTime })

export const podSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Pod'),
  metadata: objectMetaSchema,
  spec: podSpecSchema,
  status: z
    .looseObject({
      phase: z.enum(podPhases).optional(),
      reason: z.string().optional(),
      message: z.string().optional(),
      podIP: z.string().optional(),
      podIPs: z.array(z.looseObject({ ip: z.string() })).optional(),
      nominatedNodeName: z.string().optional(),
      hostIP: z.string().optional(),
      startTime: z.string().optional(),
      conditions: z.array(podConditionSchema).optional(),
      containerStatuses: z.array(containerStatusSchema).optional(),
      initContainerStatuses: z.array(containerStatusSchema).optional(),
      ephemeralContainerStatuses: z.array(containerStatusSchema).optional(),
    })
    .optional(),
})

export type Pod = z.infer<typeof podSchema>

export const podKind = coreKind(podSchema, {
  kind: 'Pod',
  plural: 'pods',
  shortNames: ['po'],
  categories: ['all'],
  hasStatus: true,
  hasGeneration: true,
  columns: [
    { name: 'Ready', type: 'string', cell: (pod) => summaryOf(pod).ready },
    { name: 'Status', type: 'string', cell: (pod) => summaryOf(pod).word },
    { name: 'Restarts', type: 'string', cell: restartsText },
    coreAgeColumn,
    {
      name: 'IP',
      type: 'string',
      priority: 1,
      cell: ({ status }) => status?.podIPs?.[0]?.ip ?? (status?.podIP || '<none>'),
    },
    { name: 'Node', type: 'string', priority: 1, cell: (pod) => pod.spec.nodeName || '<none>' },
    {
      name: 'Nominated Node',
      type: 'string',
      priority: 1,
      cell: ({ status }) => status?.nominatedNodeName || '<none>',
    },
    { name: 'Readiness Gates', type: 'string', priority: 1, cell: readinessGatesText },
  ],
  // Where a Pod runs is an outcome and not part of what is wanted.
  notInGeneration: 'nodeName',
  keptByStatus: ['ownerReferences'],
  selectableFields: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    { field: 'spec.hostNetwork', whenMissing: 'false' },
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  subresources: [
    { name: 'attach', verbs: ['create', 'get'], responseKind: coreV1('PodAttachOptions') },
    { name: 'binding', verbs: ['create'], responseKind: coreV1('Binding') },
    { name: 'ephemeralcontainers', verbs: ['get', 'patch', 'update'], responseKind: coreV1('Pod') },
    { name: 'eviction', verbs: ['create'], responseKind: { group: 'policy', version: 'v1', kind: 'Eviction' } },
    { name: 'exec', verbs: ['create', 'get'], responseKind: coreV1('PodExecOptions') },
    { name: 'log', verbs: ['get'], responseKind: coreV1('Pod') },
    { name: 'portforward', verbs: ['create', 'get'], responseKind: coreV1('PodPortForwardOptions') },
    { name: 'proxy', verbs: proxyVerbs, responseKind: coreV1('PodProxyOptions') },
  ],
  refusedSubresources: ['resize'],
  types: { ...podTypes, [`${core}Pod`]: { parts: ['spec'] } },
  complete: completePod,
  initialStatus,
  validate: (pod, previous) => checkPod(pod, previous === undefined),
  immutable: [checkPodUpdate],
  deletion: { answersWithObject: true, graceSeconds },
})

function initialStatus({ spec }: Pod) {
  const status = { phase: 'Pending', qosClass: podQualityOfService(spec) }
  // Nothing has been checked yet: there may be no spec, or one that will be refused.
  if (listIn(spec, 'schedulingGates').length === 0) return status
  const message = 'Scheduling is blocked due to non-empty scheduling gates'
  const gated = { type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', message }
  return { ...status, conditions: [{ ...gated, lastProbeTime: null, lastTransitionTime: null }] }
}

/** Only Pods have a grace period, and only those that may be running somewhere. */
function graceSeconds(pod: Pod, asked: number | undefined): number {
  if (!pod.spec.nodeName || isPodFinished(pod)) return 0
  const seconds = asked ?? pod.spec.terminationGracePeriodSeconds
  return seconds < 0 ? 1 : seconds
}

export function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

export function isPodFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

export function isPodTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined
}

interface Summary {
  readonly ready: string
  /** One word for the Pod: the most telling of phase, reason and container states. */
  readonly word: string
  /** The containers whose restarts count: those that hold the Pod up, or those that do its work. */
  readonly counted: readonly ContainerStatus[]
}

function summaryOf(pod: Pod): Summary {
  const { status, spec } = pod
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name))
  const initStatuses = status?.initContainerStatuses ?? []
  const statuses = status?.containerStatuses ?? []
  const pausedAt = initStatuses.findIndex((container) => !isInitDone(container, sidecars))
  const readySidecars = initStatuses
    .slice(0, pausedAt < 0 ? undefined : pausedAt)
    .filter((container) => sidecars.has(container.name) && container.started && container.ready).length
  const paused = initStatuses[pausedAt]
  const isInitialized = hasCondition(pod, 'Initialized')
  const total = spec.containers.length + sidecars.size
  if (paused && !isInitialized) {
    const word = terminatingOr(pod, initWord(paused, pausedAt, spec.initContainers?.length ?? 0))
    return { ready: `${readySidecars}/${total}`, word, counted: initStatuses.slice(0, pausedAt + 1) }
  }
  const running = statuses.filter(({ ready, state }) => ready && state?.running && !state.waiting && !state.terminated)
  let word = phaseWord(pod)
  for (const container of statuses.toReversed()) word = stateWord(container) ?? word
  if (word === 'Completed' && running.length > 0) word = hasCondition(pod, 'Ready') ? 'Running' : 'NotReady'
  const counted = [...initStatuses.filter(({ name }) => sidecars.has(name)), ...statuses]
  return { ready: `${readySidecars + running.length}/${total}`, word: terminatingOr(pod, word), counted }
}

function phaseWord({ status }: Pod): string {
  const gated = status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated')
  return gated ? 'SchedulingGated' : status?.reason || (status?.phase ?? '')
}

function stateWord({ state }: ContainerStatus): string | undefined {
  if (state?.waiting?.reason) return state.waiting.reason
  if (!state?.terminated) return undefined
  const { reason, signal, exitCode } = state.terminated
  return reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`)
}

function initWord(container: ContainerStatus, index: number, total: number): string {
  const word = container.state?.waiting?.reason === 'PodInitializing' ? undefined : stateWord(container)
  return word === undefined ? `Init:${index}/${total}` : `Init:${word}`
}

function terminatingOr(pod: Pod, word: string): string {
  if (pod.metadata.deletionTimestamp === undefined) return word
  if (pod.status?.reason === 'NodeLost') return 'Unknown'
  return isPodFinished(pod) ? word : 'Terminating'
}

function isInitDone({ name, state, started }: ContainerStatus, sidecars: ReadonlySet<string>): boolean {
  return state?.terminated?.exitCode === 0 || (sidecars.has(name) && started === true)
}

function isSidecar({ restartPolicy }: { readonly restartPolicy?: unknown }): boolean {
  return restartPolicy === 'Always'
}

function hasCondition({ status }: Pod, wanted: string): boolean {
  return status?.conditions?.some(({ type, status }) => type === wanted && status === 'True') ?? false
}

function restartsText(pod: Pod, now: number): string {
  const { counted } = summaryOf(pod)
  const restarts = counted.reduce((sum, { restartCount }) => sum + restartCount, 0)
  const ends = counted.flatMap(({ lastState }) => lastState?.terminated?.finishedAt ?? []).sort()
  const last = ends.at(-1)
  return restarts > 0 && last !== undefined ? `${restarts} (${ageOf(last, now)} ago)` : String(restarts)
}

function readinessGatesText(pod: Pod): string {
  const gates = pod.spec.readinessGates ?? []
  if (gates.length === 0) return '<none>'
  const met = gates.filter(({ conditionType }) => hasCondition(pod, conditionType)).length
  return `${met}/${gates.length}`
}
