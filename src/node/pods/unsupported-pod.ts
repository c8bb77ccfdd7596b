import type { Container, Pod, Probe } from '../../resources/pod.ts'
import { MalformedPod, type PodVolume, allContainers, containerParts, everyContainer, podVolumes } from './pod-parts.ts'
import { isFilledFromCluster } from '../volumes/volume-files.ts'

const namePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** Names of containers and volumes become folder names here, so anything but a plain label is refused. */
export function unsafeName(pod: Pod): string | undefined {
  const containers = everyContainer(pod).map(({ name }) => name)
  const volumes = (pod.spec.volumes ?? []).map(({ name }) => name)
  const odd = [...containers, ...volumes].find((name) => !namePattern.test(name))
  if (odd !== undefined) return `"${odd.slice(0, 63)}" cannot be the name of a container or volume.`
  if (new Set(containers).size < containers.length) return 'Two containers have the same name.'
  return undefined
}

const apart =
  'Pods see nothing of the machine that they run on. Leave it out; with kubectl debug, --profile=baseline does.'
/** What a Pod asks to share, and what to do instead. */
const unsupportedSharing: Readonly<Record<string, string>> = {
  hostNetwork: apart,
  hostPID: apart,
  hostIPC: apart,
  shareProcessNamespace:
    'each container has processes of its own. Leave it out; kubectl debug --target looks at the processes of one.',
}

/**
 * What this node cannot do for a Pod, in one sentence. Refusing it is better than running something else than was asked
 * for.
 */
export function unsupportedPart(pod: Pod, hostPathAllowed = true): string | undefined {
  const unsafe = unsafeName(pod)
  if (unsafe !== undefined) return unsafe
  const spec: Readonly<Record<string, unknown>> = pod.spec
  for (const [field, instead] of Object.entries(unsupportedSharing)) {
    if (spec[field] === true) return `spec.${field} is not supported on this node: ${instead}`
  }
  const tooMany = tooManyParts(pod)
  if (tooMany !== undefined) return tooMany
  try {
    for (const volume of podVolumes(pod)) {
      const part = unsupportedInVolume(volume, hostPathAllowed)
      if (part) return `The volume "${volume.name}" ${part}.`
    }
    for (const container of allContainers(pod)) {
      const part = unsupportedInContainer(container)
      if (part) return `The container "${container.name}" has ${part}, which this node does not support.`
    }
  } catch (error) {
    if (error instanceof MalformedPod) return `${error.message}.`
    throw error
  }
  return undefined
}

/** More than anybody needs, but few enough not to hold up other Pods. */
const mostParts = { volumes: 500, volumeMounts: 500, env: 10_000, ports: 1000, containers: 100 }

function tooManyParts(pod: Pod): string | undefined {
  const containers = allContainers(pod)
  const most = (count: (container: Container) => number) => Math.max(0, ...containers.map(count))
  const counts = {
    volumes: pod.spec.volumes?.length ?? 0,
    volumeMounts: most(({ volumeMounts }) => volumeMounts?.length ?? 0),
    env: most(({ env }) => env?.length ?? 0),
    ports: most(({ ports }) => ports?.length ?? 0),
    containers: containers.length,
  }
  const part = (['containers', 'volumes', 'volumeMounts', 'env', 'ports'] as const).find(
    (name) => counts[name] > mostParts[name],
  )
  return part && `It has ${counts[part]} ${part}; this node takes at most ${mostParts[part]}.`
}

function unsupportedInVolume(volume: PodVolume, hostPathAllowed: boolean): string | undefined {
  if (volume.hostPath && !hostPathAllowed) return 'is of the type hostPath, which is turned off on this node'
  if (volume.persistentVolumeClaim ?? volume.emptyDir ?? volume.hostPath) return undefined
  if (volume.projected?.sources.some(({ clusterTrustBundle }) => clusterTrustBundle !== undefined)) {
    return 'projects a clusterTrustBundle, which this node does not support'
  }
  if (isFilledFromCluster(volume)) return undefined
  const type = Object.keys(volume).find((key) => key !== 'name') ?? 'none'
  return `is of the type ${type}; this node supports ${volumeTypes}`
}

const volumeTypes = 'persistentVolumeClaim, emptyDir, configMap, secret, downwardAPI, projected and hostPath'

function unsupportedInContainer(container: Container): string | undefined {
  const probes: [string, Probe | undefined][] = [
    ['startupProbe', container.startupProbe],
    ['readinessProbe', container.readinessProbe],
    ['livenessProbe', container.livenessProbe],
  ]
  for (const [name, probe] of probes) {
    if (probe && !probe.httpGet && !probe.tcpSocket && !probe.exec && !probe.grpc) {
      return `a ${name} that is none of httpGet, tcpSocket, exec and grpc`
    }
  }
  const { lifecycle } = containerParts(container)
  for (const [name, handler] of Object.entries(lifecycle)) {
    if (handler && !handler.exec && !handler.httpGet && !handler.sleep) {
      return `a lifecycle.${name} that is none of exec, httpGet and sleep`
    }
  }
  return undefined
}
