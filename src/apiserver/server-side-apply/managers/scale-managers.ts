import { difference, hasPath, setOfPath } from '../fields/field-set.ts'
import { type Manager, type Managers, managerId } from './managed-fields.ts'
import { fieldElement } from '../fields/path-element.ts'

const scaleVersion = 'autoscaling/v1'
const replicasOfScale = setOfPath(['f:spec', 'f:replicas'])

/** The managers of an object's replicas, as managers of its scale. */
export function managersOfScale(managers: Managers, replicasPath: readonly string[]): Managers {
  const path = replicasPath.map(fieldElement)
  const ofScale = new Map<string, Manager>()
  for (const [id, manager] of managers) {
    if (hasPath(manager.fields, path)) {
      ofScale.set(id, { ...manager, apiVersion: scaleVersion, fields: replicasOfScale })
    }
  }
  return ofScale
}

/** The reverse: whoever lost or gained the replicas of the scale lost or gained those of the object. */
export function managersOfScaled(
  before: Managers,
  ofScale: Managers,
  { apiVersion, replicasPath }: { apiVersion: string; replicasPath: readonly string[] },
): Managers {
  const path = replicasPath.map(fieldElement)
  const replicas = setOfPath(path)
  const managers = new Map<string, Manager>()
  for (const [id, manager] of before) {
    const fields = ofScale.has(id) ? manager.fields : difference(manager.fields, replicas)
    if (fields) managers.set(id, { ...manager, fields })
  }
  for (const [id, manager] of ofScale) {
    if (before.has(id) || !hasPath(manager.fields, ['f:spec', 'f:replicas'])) continue
    // Without a time, as in Kubernetes, which only knows the times of the object's own managers here.
    const scaling = { ...manager, apiVersion, time: undefined, fields: replicas }
    managers.set(managerId(scaling), scaling)
  }
  return managers
}
