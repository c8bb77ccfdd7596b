import type { Container, Pod } from '../../resources/pod.ts'
import { type PodFacts, fieldOf, resourceFieldOf } from './downward-fields.ts'
import { type EnvFrom, type ValueSource, containerParts } from '../pods/pod-parts.ts'
import { ContainerRefused } from '../pod-runtime.ts'
import { type ReferencedObjects, configMapEntries, noReferences, secretEntries } from './referenced-objects.ts'
import { commandRoom, expandVariables } from './variable-expansion.ts'

/**
 * The variables that a container's spec defines: first those from whole ConfigMaps and Secrets, then the single ones in
 * order, which can refer to earlier ones.
 */
export function containerVariables(
  pod: Pod,
  container: Container,
  facts: PodFacts,
  given: ReadonlyMap<string, string>,
  references: ReferencedObjects = noReferences,
): Map<string, string> {
  const variables = new Map(given)
  const parts = containerParts(container)
  const room = commandRoom()
  for (const source of parts.envFrom) {
    for (const [name, value] of importedVariables(source, references)) variables.set(name, room(value))
  }
  for (const [index, { name, value, valueFrom }] of (container.env ?? []).entries()) {
    if (valueFrom === undefined) {
      variables.set(name, room(expandVariables(value ?? '', variables)))
      continue
    }
    const text = valueOf(parts.env[index]?.valueFrom ?? {}, name, { pod, container, facts, references })
    if (text !== undefined) variables.set(name, room(text))
  }
  return variables
}

function importedVariables(source: EnvFrom, references: ReferencedObjects): [string, string][] {
  const { prefix = '', configMapRef, secretRef } = source
  const imported: [string, string][] = []
  if (configMapRef) {
    const object = references.configMaps.get(configMapRef.name)
    if (!object && configMapRef.optional !== true) throw refused(`configmap "${configMapRef.name}" not found`)
    // Binary data cannot be a variable.
    for (const [key, value] of Object.entries(object?.data ?? {})) imported.push([prefix + key, value])
  }
  if (secretRef) {
    const object = references.secrets.get(secretRef.name)
    if (!object && secretRef.optional !== true) throw refused(`secret "${secretRef.name}" not found`)
    for (const [key, value] of object ? secretEntries(object) : []) imported.push([prefix + key, value.toString()])
  }
  // A variable's name cannot contain these characters.
  return imported.filter(([name]) => name !== '' && !/[=\0]/.test(name))
}

interface Surroundings {
  readonly pod: Pod
  readonly container: Container
  readonly facts: PodFacts
  readonly references: ReferencedObjects
}

/** `undefined` when an optional source does not exist; then the variable is not set. */
function valueOf(source: ValueSource, name: string, surroundings: Surroundings): string | undefined {
  const { pod, container, facts, references } = surroundings
  if (source.fieldRef) {
    const { fieldPath } = source.fieldRef
    const value = /^metadata\.(labels|annotations)$/.test(fieldPath) ? undefined : fieldOf(fieldPath, pod, facts)
    if (value === undefined) throw refused(`env ${name}: fieldRef ${fieldPath} is not supported on this node`)
    return value
  }
  if (source.resourceFieldRef) {
    const value = resourceFieldOf(source.resourceFieldRef, pod, container, facts)
    if (value !== undefined) return value
    throw refused(`env ${name}: resourceFieldRef ${source.resourceFieldRef.resource} is not supported on this node`)
  }
  const { configMapKeyRef: inMap, secretKeyRef: inSecret } = source
  const ref = inMap ?? inSecret
  if (!ref) throw refused(`env ${name}: its source is not supported on this node`)
  const map = inMap && references.configMaps.get(ref.name)
  const secret = inSecret && references.secrets.get(ref.name)
  const what = inMap ? 'configmap' : 'secret'
  if (!map && !secret) return missing(ref.optional, `${what} "${ref.name}" not found`)
  const entries = map ? configMapEntries(map) : secret ? secretEntries(secret) : new Map<string, Buffer>()
  const value = entries.get(ref.key)
  if (value !== undefined) return value.toString()
  const kind = inMap ? 'ConfigMap' : 'Secret'
  return missing(ref.optional, `couldn't find key ${ref.key} in ${kind} ${pod.metadata.namespace}/${ref.name}`)
}

function missing(optional: boolean | undefined, message: string): undefined {
  if (optional !== true) throw refused(message)
  return undefined
}

function refused(message: string): ContainerRefused {
  return new ContainerRefused('CreateContainerConfigError', message)
}
