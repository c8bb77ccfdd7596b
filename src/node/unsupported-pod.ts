import type { Container, Pod, Probe } from '../resources/pod.ts'

const namePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** Names of containers and volumes become names of folders here, so what is no plain label must never get that far. */
export function unsafeName(pod: Pod): string | undefined {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name }) => name)
  const volumes = (pod.spec.volumes ?? []).map(({ name }) => name)
  const odd = [...containers, ...volumes].find((name) => !namePattern.test(name))
  if (odd !== undefined) return `"${odd.slice(0, 63)}" cannot be the name of a container or volume.`
  if (new Set(containers).size < containers.length) return 'Two containers have the same name.'
  return undefined
}

/** What of a Pod this node cannot do, in one sentence; refusing it beats running something else than was asked for. */
export function unsupportedPart(pod: Pod): string | undefined {
  const unsafe = unsafeName(pod)
  if (unsafe !== undefined) return unsafe
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC']) {
    if (pod.spec[field] === true) return `spec.${field} is not supported on this node.`
  }
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.persistentVolumeClaim || volume.emptyDir) continue
    const type = Object.keys(volume).find((key) => key !== 'name') ?? 'none'
    return `The volume "${volume.name}" is of the type ${type}; this node supports persistentVolumeClaim and emptyDir.`
  }
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
    const part = unsupportedInContainer(container)
    if (part) return `The container "${container.name}" has ${part}, which this node does not support.`
  }
  if (pod.spec.initContainers?.some((container) => container['restartPolicy'] === 'Always')) {
    return 'Init containers that restart always (sidecars) are not supported on this node.'
  }
  return undefined
}

function unsupportedInContainer(container: Container): string | undefined {
  const probes: [string, Probe | undefined][] = [
    ['startupProbe', container.startupProbe],
    ['readinessProbe', container.readinessProbe],
    ['livenessProbe', container.livenessProbe],
  ]
  for (const [name, probe] of probes) {
    if (probe && !probe.httpGet && !probe.tcpSocket) return `a ${name} that is neither httpGet nor tcpSocket`
  }
  if (container['lifecycle'] !== undefined) return 'lifecycle hooks'
  if (container['envFrom'] !== undefined) return 'envFrom'
  const source = container.env?.find(({ valueFrom }) => valueFrom !== undefined && !('fieldRef' in valueFrom))
  if (source) return `the variable ${source.name} from ${Object.keys(source.valueFrom ?? {}).join(', ') || 'nowhere'}`
  return undefined
}
