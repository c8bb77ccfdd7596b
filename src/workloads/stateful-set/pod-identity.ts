import type { NewObject } from '../../cluster/cluster-client.ts'
import type { PersistentVolumeClaim } from '../../resources/persistent-volume-claim.ts'
import type { PodTemplate } from '../../resources/pod-template.ts'
import type { Pod } from '../../resources/pod.ts'
import type { StatefulSet } from '../../resources/stateful-set.ts'
import type { PodIdentity } from '../pods/pod-control.ts'

export const revisionLabel = 'controller-revision-hash'
const podNameLabel = 'statefulset.kubernetes.io/pod-name'
const podIndexLabel = 'apps.kubernetes.io/pod-index'

/** The number in a Pod's name; undefined when the name is not one of the set's. */
export function ordinalOf(setName: string, pod: Pod): number | undefined {
  const { name } = pod.metadata
  const prefix = `${setName}-`
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : ''
  return /^(0|[1-9]\d*)$/.test(digits) ? Number(digits) : undefined
}

export function podName({ metadata }: StatefulSet, ordinal: number): string {
  return `${metadata.name}-${ordinal}`
}

export function identityOf(set: StatefulSet, ordinal: number, revision: string): PodIdentity {
  const name = podName(set, ordinal)
  const labels = { [podNameLabel]: name, [podIndexLabel]: String(ordinal), [revisionLabel]: revision }
  return { name, generateName: `${set.metadata.name}-`, labels }
}

/** The template with the Pod's own host name and claims. */
export function templateFor(set: StatefulSet, template: PodTemplate, ordinal: number): PodTemplate {
  const claims = claimNames(set, ordinal)
  const own = new Set(claims.map(({ volume }) => volume))
  const volumes = [
    ...claims.map(({ volume, claim }) => ({ name: volume, persistentVolumeClaim: { claimName: claim } })),
    ...(template.spec.volumes ?? []).filter(({ name }) => !own.has(name)),
  ]
  const { serviceName = '' } = set.spec
  const spec = {
    ...template.spec,
    hostname: podName(set, ordinal),
    ...(serviceName !== '' && { subdomain: serviceName }),
    ...(volumes.length > 0 && { volumes }),
  }
  return { ...template, spec }
}

export function claimNames(set: StatefulSet, ordinal: number) {
  return (set.spec.volumeClaimTemplates ?? []).map(({ metadata }) => {
    const volume = metadata?.name ?? ''
    return { volume, claim: `${volume}-${podName(set, ordinal)}` }
  })
}

/** The claims of one Pod, as they are to be created. */
export function claimsFor(set: StatefulSet, ordinal: number): NewObject<PersistentVolumeClaim>[] {
  const { namespace } = set.metadata
  return (set.spec.volumeClaimTemplates ?? []).map(({ metadata = {}, ...claim }) => ({
    metadata: {
      name: `${metadata.name ?? ''}-${podName(set, ordinal)}`,
      ...(namespace !== undefined && { namespace }),
      labels: { ...metadata.labels, ...set.spec.selector.matchLabels },
      ...(metadata.annotations && { annotations: metadata.annotations }),
    },
    spec: claim['spec'],
  }))
}
