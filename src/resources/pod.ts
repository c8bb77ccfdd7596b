import { z } from 'zod'
import { coreKind } from './core-kind.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'
import { podColumns } from './pod-columns.ts'
import { checkPod } from './validation/pod-rules.ts'

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
  /** Of an init container: `Always` makes it run beside the others. */
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
  /** Added while it runs, to look at the others. */
  ephemeralContainers: z.array(containerSchema.extend({ targetContainerName: z.string().optional() })).optional(),
  volumes: z.array(volumeSchema).optional(),
  nodeName: z.string().optional(),
  nodeSelector: z.record(z.string(), z.string()).optional(),
  restartPolicy: z.enum(['Always', 'OnFailure', 'Never']).default('Always'),
  terminationGracePeriodSeconds: z.int().min(0).default(30),
  /** How long the Pod may be active on its node, from when that took it on. */
  activeDeadlineSeconds: z.int().optional(),
  imagePullSecrets: z.array(z.looseObject({ name: z.string().optional() })).optional(),
  /** Named by the Pod, filled in by admission: what running it takes beside its containers. */
  runtimeClassName: z.string().optional(),
  overhead: quantities.optional(),
  readinessGates: z.array(z.looseObject({ conditionType: z.string() })).optional(),
})

export type PodSpec = z.infer<typeof podSpecSchema>

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
      conditions: z.array(conditionSchema.loose()).optional(),
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
  columns: podColumns,
  validate: (pod, previous) => checkPod(pod, previous === undefined),
})

export function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

/** Finished or on its way out: it serves nobody any more, though it may still hold its cards. */
export function isPodFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

export function isPodTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined
}
