import { isJsonObject, valueAtPath } from '../../resources/json-value.ts'
import { completePod } from '../../resources/pod-completion.ts'
import { podTemplatePath } from '../../resources/pod-template.ts'
import type { AdmissionRequest } from '../admission/admission.ts'
import { amountsText } from './amounts.ts'
import { unaccountable, usageOf } from './object-usage.ts'
import type { QuotaLedger } from './quota-ledger.ts'

/**
 * The quotas by which not even one Pod of a template could ever be created. As in Kubernetes the template itself is
 * let in, since a quota may be raised, but whoever applies it hears of it.
 */
export function hopelessQuotas(
  { operation, kind, object, warn }: AdmissionRequest,
  ledger: Pick<QuotaLedger, 'accountsFor'>,
): readonly string[] {
  const path = podTemplatePath(kind)
  const template = path && operation !== 'delete' && warn ? valueAtPath(object, path) : undefined
  if (!isJsonObject(template)) return []
  const { name, namespace } = object.metadata
  const made = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec: template['spec'] }
  const pod = { ...completePod(made, undefined), metadata: made.metadata }
  const usage = usageOf('pods', pod)
  return ledger.accountsFor('pods', pod).flatMap((account) => {
    const silent = unaccountable('pods', pod, new Set(account.hard.keys()))
    if (silent !== undefined)
      return [`no Pod can be created from this template: failed quota: ${account.name}: ${silent}`]
    const exceeded = [...usage].flatMap(([resource, { amount }]) => {
      const limit = account.hard.get(resource)
      return limit && amount > limit.amount ? [resource] : []
    })
    if (exceeded.length === 0) return []
    const [requested, limited] = [usage, account.hard].map((amounts) => amountsText(amounts, exceeded))
    const why = `exceeded quota: ${account.name}, requested: ${requested}, limited: ${limited}`
    return [`no Pod can be created from this template: ${why}`]
  })
}
