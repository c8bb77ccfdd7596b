import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission/admission.ts'
import { type Amounts, amountsText, combined, negated, sum } from './amounts.ts'
import { canGrow, unaccountable, usageOf } from './object-usage.ts'
import { hopelessQuotas } from './hopeless-quotas.ts'
import { type QuotaAccount, type QuotaLedger, storedResource } from './quota-ledger.ts'

/** Refuses what would exceed the quotas of its namespace. */
export class QuotaAdmission implements AdmissionPlugin {
  readonly #ledger: QuotaLedger

  constructor(ledger: QuotaLedger) {
    this.#ledger = ledger
  }

  hold(request: AdmissionRequest): (() => void) | undefined {
    const { operation, kind, object, previous } = request
    for (const warning of hopelessQuotas(request, this.#ledger)) request.warn?.(warning)
    const resource = storedResource(kind)
    if (!kind.namespaced || (operation !== 'create' && !(operation === 'update' && canGrow(resource)))) return undefined
    const accounts = this.#ledger.accountsFor(resource, object)
    if (accounts.length === 0) return undefined
    const before = previous ? negated(usageOf(resource, previous)) : new Map()
    const change = combined(usageOf(resource, object), before, sum)
    const concerned = accounts.filter(({ hard }) => [...change.keys()].some((name) => hard.has(name)))
    for (const { name, hard } of accounts) {
      const why = unaccountable(resource, object, new Set(hard.keys()))
      if (why !== undefined) throw forbidden(kind, object, `failed quota: ${name}: ${why}`)
    }
    for (const account of concerned) refuseExcess(kind, object, account, change)
    for (const account of concerned) account.held = combined(account.held, change, sum)
    return () => {
      for (const account of concerned) account.held = combined(account.held, negated(change), sum)
    }
  }

  changed(kind: Kind, object: KubernetesObject, gone: boolean): void {
    this.#ledger.changed(kind, object, gone)
  }
}

function refuseExcess(kind: Kind, object: KubernetesObject, account: QuotaAccount, change: Amounts): void {
  const { name, hard, stored, held } = account
  const used = combined(stored, held, sum)
  const exceeded = [...change].flatMap(([resource, { amount }]) => {
    const limit = hard.get(resource)
    return amount !== 0n && limit && (used.get(resource)?.amount ?? 0n) + amount > limit.amount ? [resource] : []
  })
  if (exceeded.length === 0) return
  const [requested, inUse, limited] = [change, used, hard].map((amounts) => amountsText(amounts, exceeded))
  const why = `exceeded quota: ${name}, requested: ${requested}, used: ${inUse}, limited: ${limited}`
  throw forbidden(kind, object, why)
}

function forbidden(kind: Kind, object: KubernetesObject, why: string): StatusError {
  const { name } = object.metadata
  const message = `${resourceNameOf(kind)} "${name}" is forbidden: ${why}`
  return new StatusError('Forbidden', message, { name, group: kind.group || undefined, kind: kind.plural })
}
