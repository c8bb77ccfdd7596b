import { selectorText } from '../../resources/columns/cell-texts.ts'
import { invalid } from '../../resources/field-error.ts'
import type { Kind, ScalePaths } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { labelSelectorSchema } from '../../resources/pod-template.ts'
import { StatusError, invalidObject } from '../../resources/status-error.ts'
import { type JsonObject, valueAtPath, withValueAtPath } from '../../resources/json-value.ts'

export const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }

/** The scale subresource of an object, as `autoscaling/v1`. */
export function scaleOf(paths: ScalePaths, object: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const selector = paths.labelSelectorPath ? selectorAt(object, paths.labelSelectorPath) : ''
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: countAt(object, paths.specReplicasPath) },
    status: {
      replicas: countAt(object, paths.statusReplicasPath),
      ...(selector !== '' && { selector }),
    },
  }
}

/** The object with the replicas of its written scale. */
export function withReplicas(paths: ScalePaths, object: KubernetesObject, replicas: unknown): JsonObject {
  if (typeof replicas !== 'number' || !Number.isInteger(replicas) || replicas < 0) {
    const errors = [invalid('spec.replicas', replicas, 'must be greater than or equal to 0')]
    throw invalidObject({ group: 'autoscaling', plural: 'scales', kind: 'Scale' }, object.metadata.name, errors)
  }
  return withValueAtPath(object, segments(paths.specReplicasPath), replicas)
}

/** A custom object that does not say how many replicas it wants has no scale to show, but can be given one. */
export function refuseUnscaled(kind: Kind, { specReplicasPath }: ScalePaths, object: KubernetesObject): void {
  if (kind.origin === 'core' || valueAtPath(object, segments(specReplicasPath)) !== undefined) return
  const why = `the spec replicas field ${JSON.stringify(specReplicasPath)} does not exist`
  throw new StatusError('InternalError', `Internal error occurred: ${why}`)
}

export function scalePathsOf(kind: Kind): ScalePaths {
  if (kind.scale) return kind.scale
  throw new StatusError('NotFound', 'the server could not find the requested resource')
}

/** Our kinds keep it as text, Kubernetes' own as an object. */
function selectorAt(object: KubernetesObject, path: string): string {
  const value = valueAtPath(object, segments(path))
  if (typeof value === 'string') return value
  const parsed = labelSelectorSchema.safeParse(value)
  return parsed.success ? selectorText(parsed.data) : ''
}

function countAt(object: KubernetesObject, path: string): number {
  const value = valueAtPath(object, segments(path))
  return typeof value === 'number' ? value : 0
}

function segments(path: string): string[] {
  return path.split('.').filter((segment) => segment !== '')
}
