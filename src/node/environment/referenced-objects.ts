import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { type ConfigMap, configMapKind } from '../../resources/config-map.ts'
import type { Container, Pod } from '../../resources/pod.ts'
import { type Secret, secretKind } from '../../resources/secret.ts'
import { MalformedPod, containerParts, everyContainer, podVolumes } from '../pods/pod-parts.ts'

/** The ConfigMaps and Secrets that something refers to, by name, without those that do not exist. */
export interface ReferencedObjects {
  readonly configMaps: ReadonlyMap<string, ConfigMap>
  readonly secrets: ReadonlyMap<string, Secret>
}

export const noReferences: ReferencedObjects = { configMaps: new Map(), secrets: new Map() }

export interface ReferencedNames {
  readonly configMaps: ReadonlySet<string>
  readonly secrets: ReadonlySet<string>
}

/** The names that a container's environment refers to. */
export function namesInEnvironment(container: Container): ReferencedNames {
  const { env, envFrom } = containerParts(container)
  return {
    configMaps: named([
      ...env.map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
      ...envFrom.map(({ configMapRef }) => configMapRef?.name),
    ]),
    secrets: named([
      ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
      ...envFrom.map(({ secretRef }) => secretRef?.name),
    ]),
  }
}

/** The names that a Pod's volumes refer to. */
export function namesInVolumes(pod: Pod): ReferencedNames {
  const volumes = podVolumes(pod)
  const sources = volumes.flatMap(({ projected }) => projected?.sources ?? [])
  return {
    configMaps: named([
      ...volumes.map(({ configMap }) => configMap?.name),
      ...sources.map(({ configMap }) => configMap?.name),
    ]),
    secrets: named([...volumes.map(({ secret }) => secret?.secretName), ...sources.map(({ secret }) => secret?.name)]),
  }
}

/** All names a Pod refers to; none for a malformed Pod, which cannot run anyway. */
export function namesIn(pod: Pod): {
  readonly volumes: ReferencedNames
  readonly environments: ReadonlyMap<string, ReferencedNames>
} {
  try {
    const environments = everyContainer(pod).map(
      (container) => [container.name, namesInEnvironment(container)] as const,
    )
    return { volumes: namesInVolumes(pod), environments: new Map(environments) }
  } catch (error) {
    if (!(error instanceof MalformedPod)) throw error
    return { volumes: { configMaps: new Set(), secrets: new Set() }, environments: new Map() }
  }
}

/** Read from the API, not from a cache: a Pod is often created right after the objects it needs. */
export async function readReferences(
  client: ClusterClient,
  namespace: string,
  names: ReferencedNames,
  signal: AbortSignal,
): Promise<ReferencedObjects> {
  const configMaps = new Map<string, ConfigMap>()
  const secrets = new Map<string, Secret>()
  const reading = [
    ...[...names.configMaps].map(async (name) => {
      const object = await client.get(configMapKind, { namespace, name }, signal)
      if (object) configMaps.set(name, object)
    }),
    ...[...names.secrets].map(async (name) => {
      const object = await client.get(secretKind, { namespace, name }, signal)
      if (object) secrets.set(name, object)
    }),
  ]
  await Promise.all(reading)
  return { configMaps, secrets }
}

/** The entries of a ConfigMap, text and binary alike. */
export function configMapEntries({ data, binaryData }: ConfigMap): Map<string, Buffer> {
  return new Map([
    ...Object.entries(data ?? {}).map(([key, text]) => [key, Buffer.from(text)] as const),
    ...Object.entries(binaryData ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const),
  ])
}

export function secretEntries({ data }: Secret): Map<string, Buffer> {
  return new Map(Object.entries(data ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')]))
}

function named(names: readonly (string | undefined)[]): Set<string> {
  return new Set(names.flatMap((name) => name || []))
}
