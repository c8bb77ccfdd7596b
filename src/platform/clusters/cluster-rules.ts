import type { AdmissionRule } from '../../apiserver/admission/admission.ts'
import { clusterKind } from '../../resources/cluster.ts'
import { resourceNameOf } from '../../resources/kind.ts'
import { modelKind } from '../../resources/model.ts'
import { StatusError } from '../../resources/status-error.ts'

/**
 * The home cluster's own Cluster cannot be deleted: it describes all clusters, so nothing could be managed without it.
 */
export function homeStays(homeId: string): AdmissionRule {
  return ({ operation, kind, object }) => {
    if (operation !== 'delete' || kind.kind !== clusterKind.kind || object.metadata.name !== homeId) return []
    const why = 'this is the home cluster: it holds all others, and the resources that tell of them'
    const instead = 'To be rid of it, stop sluice and remove its data directory'
    throw new StatusError('Forbidden', `${resourceNameOf(kind)} "${homeId}" is forbidden: ${why}. ${instead}`)
  }
}

/** Models can only be in the home cluster, since it has the only gateway. */
export function modelsAreAtHome(homeId: string): AdmissionRule {
  return ({ operation, kind, object }) => {
    if (operation !== 'create' || kind.kind !== modelKind.kind || kind.group !== modelKind.group) return []
    const why = 'no gateway is installed in this cluster, so nobody could reach the Model'
    const { name } = object.metadata
    throw new StatusError(
      'Forbidden',
      `${resourceNameOf(kind)} "${name}" is forbidden: ${why}. The gateway is in the home cluster, ${homeId}`,
    )
  }
}
