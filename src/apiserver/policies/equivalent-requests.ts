import type { MatchResources } from '../../resources/admission-policy-schemas.ts'
import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { AdmissionRequest } from '../admission/admission.ts'
import { isExcluded, matchesResources } from './match-resources.ts'

/** A request as a policy sees it, which may know its resource by another version or group than the client. */
export interface VersionedRequest extends AdmissionRequest {
  /** As the client named it, where that is another one. */
  readonly requestKind?: Kind | undefined
}

/** The same request in every other version and group that shares its objects. */
export function otherVersions(request: AdmissionRequest, kinds: readonly Kind[]): readonly VersionedRequest[] {
  const { kind, object, previous } = request
  const resource = storedResource(kind)
  const others = kinds.filter(
    (other) => other !== kind && other.kind === kind.kind && storedResource(other) === resource,
  )
  return others.map((other) => ({
    ...request,
    kind: other,
    requestKind: kind,
    object: converted(object, kind, other),
    previous: previous && converted(previous, kind, other),
  }))
}

/** The request as sent, else, where that counts as well, in the first version that the constraints name. */
export function versionThatMatches(
  match: MatchResources | undefined,
  request: AdmissionRequest,
  others: () => readonly VersionedRequest[],
  namespace: KubernetesObject | undefined,
): VersionedRequest | undefined {
  if (match?.matchPolicy === 'Exact') return matchesResources(match, request, namespace) ? request : undefined
  const versions = match ? others() : []
  if (match && versions.some((version) => isExcluded(match, version))) return undefined
  return [request, ...versions].find((version) => matchesResources(match, version, namespace))
}

function storedResource(kind: Kind): string {
  return resourceNameOf(kind.storage?.kind ?? kind)
}

function converted(object: KubernetesObject, from: Kind, to: Kind): KubernetesObject {
  const stored = from.storage ? from.storage.toStored(object) : object
  return to.storage ? to.storage.fromStored(stored) : stored
}
