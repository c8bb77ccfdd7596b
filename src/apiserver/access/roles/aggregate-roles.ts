import { clusterRoleKind } from '../../../resources/role.ts'
import { isStatusError } from '../../../resources/status-error.ts'
import type { ClusterApi } from '../../cluster-api.ts'
import { sameJson } from '../../../resources/json-value.ts'
import { readRules, showRule } from './policy-rule.ts'
import type { RoleTable } from './role-table.ts'

/**
 * Writes the rules of aggregated ClusterRoles into the objects, for those who read them; decisions use the table's own
 * sums. Writes only what differs, so it can be called at any time.
 */
export async function writeAggregatedRoles(api: ClusterApi, table: RoleTable): Promise<void> {
  for (const name of table.clusterRoleNames) {
    const rules = table.aggregated(name)
    const current = rules && api.find(clusterRoleKind, { name })
    if (!current || sameJson(readRules(current['rules']), rules)) continue
    try {
      await api.update(clusterRoleKind, { name }, { ...current, rules: rules.map((rule) => showRule(rule)) })
    } catch (error) {
      // Somebody else changed it first; that change triggers another run.
      if (!isStatusError(error, 'Conflict', 'NotFound')) throw error
    }
  }
}
