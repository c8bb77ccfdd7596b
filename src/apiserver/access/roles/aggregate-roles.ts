import { clusterRoleKind } from '../../../resources/role.ts'
import { isStatusError } from '../../../resources/status-error.ts'
import type { ClusterApi } from '../../cluster-api.ts'
import { sameJson } from '../../../resources/json-value.ts'
import { readRules, showRule } from './policy-rule.ts'
import type { RoleTable } from './role-table.ts'

/**
 * Writes into aggregated ClusterRoles what they sum up to, for those who read them; decisions use the sums themselves.
 * Safe to call again at any time: it writes only what differs.
 */
export async function writeAggregatedRoles(api: ClusterApi, table: RoleTable): Promise<void> {
  for (const name of table.clusterRoleNames) {
    const rules = table.aggregated(name)
    const current = rules && api.find(clusterRoleKind, { name })
    if (!current || sameJson(readRules(current['rules']), rules)) continue
    try {
      await api.update(clusterRoleKind, { name }, { ...current, rules: rules.map((rule) => showRule(rule)) })
    } catch (error) {
      // Somebody else was quicker: their change comes back here.
      if (!isStatusError(error, 'Conflict', 'NotFound')) throw error
    }
  }
}
