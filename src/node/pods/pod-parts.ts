import { z } from 'zod'
import type { Container, Pod } from '../../resources/pod.ts'

/** Schemas for the parts of a Pod that its resource type does not check; they are parsed where they are needed. */

const keySelector = z.object({ name: z.string().default(''), key: z.string(), optional: z.boolean().optional() })
const objectSelector = z.object({ name: z.string().default(''), optional: z.boolean().optional() })
const fieldRef = z.object({ fieldPath: z.string() })
const quantity = z.union([z.string(), z.number()]).transform(String)
const resourceFieldRef = z.object({
  resource: z.string(),
  containerName: z.string().optional(),
  divisor: quantity.optional(),
})

const valueSourceSchema = z.object({
  fieldRef: fieldRef.optional(),
  resourceFieldRef: resourceFieldRef.optional(),
  configMapKeyRef: keySelector.optional(),
  secretKeyRef: keySelector.optional(),
})

const envFromSchema = z.object({
  prefix: z.string().optional(),
  configMapRef: objectSelector.optional(),
  secretRef: objectSelector.optional(),
})

const headerSchema = z.object({ name: z.string(), value: z.string().default('') })

const handlerSchema = z.object({
  exec: z.object({ command: z.array(z.string()).default([]) }).optional(),
  httpGet: z
    .object({
      path: z.string().default('/'),
      port: z.union([z.int(), z.string()]),
      host: z.string().optional(),
      scheme: z.string().optional(),
      httpHeaders: z.array(headerSchema).optional(),
    })
    .optional(),
  sleep: z.object({ seconds: z.int().min(0) }).optional(),
  tcpSocket: z.unknown().optional(),
})

const containerPartsSchema = z.object({
  env: z.array(z.object({ name: z.string(), valueFrom: valueSourceSchema.optional() })).default([]),
  envFrom: z.array(envFromSchema).default([]),
  lifecycle: z.object({ postStart: handlerSchema.optional(), preStop: handlerSchema.optional() }).default({}),
  terminationMessagePath: z.string().default('/dev/termination-log'),
  terminationMessagePolicy: z.string().default('File'),
  stdin: z.boolean().default(false),
  stdinOnce: z.boolean().default(false),
  tty: z.boolean().default(false),
  restartPolicy: z.string().optional(),
  volumeMounts: z
    .array(
      z.object({
        name: z.string(),
        mountPath: z.string(),
        subPath: z.string().optional(),
        subPathExpr: z.string().optional(),
        readOnly: z.boolean().optional(),
      }),
    )
    .default([]),
})

const keyToPath = z.object({ key: z.string(), path: z.string(), mode: z.int().optional() })
const downwardItem = z.object({
  path: z.string(),
  mode: z.int().optional(),
  fieldRef: fieldRef.optional(),
  resourceFieldRef: resourceFieldRef.optional(),
})

const projectionSchema = z.object({
  configMap: objectSelector.extend({ items: z.array(keyToPath).optional() }).optional(),
  secret: objectSelector.extend({ items: z.array(keyToPath).optional() }).optional(),
  downwardAPI: z.object({ items: z.array(downwardItem).default([]) }).optional(),
  serviceAccountToken: z
    .object({ path: z.string(), audience: z.string().optional(), expirationSeconds: z.int().default(3600) })
    .optional(),
  clusterTrustBundle: z.unknown().optional(),
})

const volumeSchema = z.looseObject({
  name: z.string(),
  persistentVolumeClaim: z.object({ claimName: z.string(), readOnly: z.boolean().optional() }).optional(),
  emptyDir: z.object({ medium: z.string().optional(), sizeLimit: quantity.optional() }).optional(),
  hostPath: z.object({ path: z.string(), type: z.string().optional() }).optional(),
  configMap: objectSelector
    .extend({ items: z.array(keyToPath).optional(), defaultMode: z.int().optional() })
    .optional(),
  secret: z
    .object({
      secretName: z.string().default(''),
      optional: z.boolean().optional(),
      items: z.array(keyToPath).optional(),
      defaultMode: z.int().optional(),
    })
    .optional(),
  downwardAPI: z.object({ items: z.array(downwardItem).default([]), defaultMode: z.int().optional() }).optional(),
  projected: z.object({ sources: z.array(projectionSchema).default([]), defaultMode: z.int().optional() }).optional(),
})

export type ValueSource = z.infer<typeof valueSourceSchema>
export type EnvFrom = z.infer<typeof envFromSchema>
export type LifecycleHandler = z.infer<typeof handlerSchema>
export type ContainerParts = z.infer<typeof containerPartsSchema>
export type PodVolume = z.infer<typeof volumeSchema>
export type Projection = z.infer<typeof projectionSchema>
export type KeyToPath = z.infer<typeof keyToPath>
export type DownwardItem = z.infer<typeof downwardItem>
export type ResourceFieldRef = z.infer<typeof resourceFieldRef>

/** A part of a Pod that is not what the API defines; the message names the field. */
export class MalformedPod extends Error {
  override readonly name = 'MalformedPod'
}

/** Parsed once per container object: it is needed many times for a start, and such objects never change. */
const knownParts = new WeakMap<Container, ContainerParts>()
const knownVolumes = new WeakMap<object, readonly PodVolume[]>()

export function containerParts(container: Container): ContainerParts {
  let parts = knownParts.get(container)
  if (!parts)
    knownParts.set(container, (parts = parsed(containerPartsSchema, container, `container "${container.name}"`)))
  return parts
}

export function podVolumes(pod: Pod): readonly PodVolume[] {
  const { volumes } = pod.spec
  if (!volumes) return []
  let known = knownVolumes.get(volumes)
  if (!known) {
    known = volumes.map((volume) => parsed(volumeSchema, volume, `volume "${volume.name}"`))
    knownVolumes.set(volumes, known)
  }
  return known
}

export function isSidecar(container: Container): boolean {
  return container.restartPolicy === 'Always'
}

export function allContainers(pod: Pod): Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers]
}

/** All containers, including ephemeral ones. */
export function everyContainer(pod: Pod): Container[] {
  return [...allContainers(pod), ...(pod.spec.ephemeralContainers ?? [])]
}

export function serviceAccountOf(pod: Pod): string {
  const spec: Readonly<Record<string, unknown>> = pod.spec
  const name = spec['serviceAccountName']
  return typeof name === 'string' && name !== '' ? name : 'default'
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new MalformedPod(`${what}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is malformed'}`)
}
