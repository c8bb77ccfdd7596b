import type { Container, Pod } from '../resources/pod.ts'
import { ContainerRefused } from './pod-runtime.ts'
import { expandVariables } from './variable-expansion.ts'

export interface PodFacts {
  readonly podIP: string
  readonly hostIP: string
}

/** The variables a container's spec defines, in order, each able to refer to those before it. */
export function containerVariables(
  pod: Pod,
  container: Container,
  facts: PodFacts,
  given: ReadonlyMap<string, string>,
): Map<string, string> {
  const variables = new Map(given)
  for (const { name, value, valueFrom } of container.env ?? []) {
    const text =
      valueFrom === undefined ? expandVariables(value ?? '', variables) : valueOf(valueFrom, pod, facts, name)
    variables.set(name, text)
  }
  return variables
}

function valueOf(source: Readonly<Record<string, unknown>>, pod: Pod, facts: PodFacts, name: string): string {
  const fieldRef = source['fieldRef']
  const path =
    typeof fieldRef === 'object' && fieldRef !== null && 'fieldPath' in fieldRef
      ? String(fieldRef.fieldPath)
      : undefined
  const value = path === undefined ? undefined : fieldOf(path, pod, facts)
  if (value !== undefined) return value
  const what = path === undefined ? Object.keys(source).join(', ') : `fieldRef ${path}`
  throw new ContainerRefused('CreateContainerConfigError', `env ${name}: ${what} is not supported on this node`)
}

function fieldOf(path: string, pod: Pod, { podIP, hostIP }: PodFacts): string | undefined {
  const keyed = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path)
  if (keyed) {
    const [, field, key = ''] = keyed
    return (field === 'labels' ? pod.metadata.labels : pod.metadata.annotations)?.[key] ?? ''
  }
  switch (path) {
    case 'metadata.name':
      return pod.metadata.name
    case 'metadata.namespace':
      return pod.metadata.namespace ?? ''
    case 'metadata.uid':
      return pod.metadata.uid ?? ''
    case 'spec.nodeName':
      return pod.spec.nodeName ?? ''
    case 'spec.serviceAccountName':
      return typeof pod.spec['serviceAccountName'] === 'string' ? pod.spec['serviceAccountName'] : 'default'
    case 'status.podIP':
    case 'status.podIPs':
      return podIP
    case 'status.hostIP':
    case 'status.hostIPs':
      return hostIP
    default:
      return undefined
  }
}
