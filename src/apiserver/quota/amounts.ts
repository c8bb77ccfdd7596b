import { type Quantity, quantityText, readQuantity } from '../../resources/canonical-quantity.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'

/** Amounts by resource name. */
export type Amounts = ReadonlyMap<string, Quantity>

const nothing: Quantity = { amount: 0n, format: 'decimal' }
export const one: Quantity = { amount: 1_000_000_000n, format: 'decimal' }

export function amountsIn(quantities: unknown): Amounts {
  const amounts = new Map<string, Quantity>()
  for (const [name, text] of Object.entries(isJsonObject(quantities) ? quantities : {})) {
    const quantity = typeof text === 'string' || typeof text === 'number' ? readQuantity(String(text)) : undefined
    if (quantity) amounts.set(name, quantity)
  }
  return amounts
}

export function sum(left: Quantity = nothing, right: Quantity = nothing): Quantity {
  // Zero takes the format of what is added, as in Kubernetes.
  return { amount: left.amount + right.amount, format: left.amount === 0n ? right.format : left.format }
}

export function larger(left: Quantity = nothing, right: Quantity = nothing): Quantity {
  return right.amount > left.amount ? right : left
}

export function combined(left: Amounts, right: Amounts, combine: typeof sum): Map<string, Quantity> {
  const result = new Map(left)
  for (const [name, quantity] of right) result.set(name, combine(result.get(name), quantity))
  return result
}

export function negated(amounts: Amounts): Amounts {
  return new Map([...amounts].map(([name, { amount, format }]) => [name, { amount: -amount, format }]))
}

/** `cpu=2,memory=1Gi`, sorted by name. */
export function amountsText(amounts: Amounts, names: readonly string[]): string {
  return [...names]
    .sort()
    .map((name) => `${name}=${quantityText(amounts.get(name) ?? nothing)}`)
    .join(',')
}

export function quantitiesOf(amounts: Amounts, names: Iterable<string>): JsonObject {
  return Object.fromEntries([...names].map((name) => [name, quantityText(amounts.get(name) ?? nothing)]))
}
