import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { Store } from '../../store/store.ts'
import { type JsonObject, valueAtPath } from '../../resources/json-value.ts'
import { type Amounts, amountsIn, combined, negated, quantitiesOf, sum } from './amounts.ts'
import { isCounted, usageOf } from './object-usage.ts'
import { isInScope } from './quota-scopes.ts'

/** One quota and what counts against it. */
export interface QuotaAccount {
  readonly name: string
  quota: KubernetesObject
  hard: Amounts
  /** By stored objects. */
  stored: Amounts
  /**
   * By writes in progress: they count before they are stored, so that two writes cannot both get the last of something.
   */
  held: Amounts
}

interface Counted {
  readonly resource: string
  readonly object: KubernetesObject
  readonly usage: Amounts
}

interface Space {
  readonly accounts: Map<string, QuotaAccount>
  /** By resource and name. */
  readonly objects: Map<string, Counted>
}

export interface QuotaUsage {
  readonly hard: JsonObject
  readonly used: JsonObject
}

export interface QuotaLedgerOptions {
  readonly store: Store
  readonly kinds: () => readonly Kind[]
}

/**
 * What the objects of a namespace use, tracked while it has quotas. Both admission and the status of quotas rely on it.
 * A change costs the same however many objects there are.
 */
export class QuotaLedger {
  readonly #options: QuotaLedgerOptions
  readonly #spaces = new Map<string, Space>()
  readonly #listeners = new Set<(namespace: string, quota: string) => void>()
  #isLoaded = false

  constructor(options: QuotaLedgerOptions) {
    this.#options = options
  }

  /** The quotas that an object counts against, by name. */
  accountsFor(resource: string, object: KubernetesObject): readonly QuotaAccount[] {
    const accounts = this.#space(object.metadata.namespace)?.accounts
    if (!accounts || !isCounted(resource)) return []
    const concerned = [...accounts.values()].filter(({ quota }) => isInScope(quota, resource, object))
    return concerned.sort((left, right) => (left.name < right.name ? -1 : 1))
  }

  /** `undefined` when there is no such quota. */
  usage(namespace: string, name: string): QuotaUsage | undefined {
    const account = this.#space(namespace)?.accounts.get(name)
    if (!account) return undefined
    const { hard, stored } = account
    return { hard: quantitiesOf(hard, hard.keys()), used: quantitiesOf(stored, hard.keys()) }
  }

  /** Called for every quota whose use may have changed. */
  onChange(listener: (namespace: string, quota: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  changed(kind: Kind, object: KubernetesObject, gone: boolean): void {
    const { namespace } = object.metadata
    if (namespace === undefined) return
    const resource = storedResource(kind)
    if (resource === 'resourcequotas') this.#changeQuota(namespace, object, gone)
    const space = this.#space(namespace)
    if (!space || !isCounted(resource)) return
    const key = `${resource}/${object.metadata.name}`
    const before = space.objects.get(key)
    const after = gone ? undefined : { resource, object, usage: usageOf(resource, object) }
    if (after) space.objects.set(key, after)
    else space.objects.delete(key)
    for (const account of space.accounts.values()) this.#recount(namespace, account, before, after)
  }

  #recount(namespace: string, account: QuotaAccount, before: Counted | undefined, after: Counted | undefined): void {
    const less = before && countsFor(account, before) ? negated(before.usage) : undefined
    const more = after && countsFor(account, after) ? after.usage : undefined
    if (!less && !more) return
    if (less) account.stored = combined(account.stored, less, sum)
    if (more) account.stored = combined(account.stored, more, sum)
    this.#tell(namespace, account.name)
  }

  #changeQuota(namespace: string, quota: KubernetesObject, gone: boolean): void {
    const { name } = quota.metadata
    const space = this.#space(namespace) ?? this.#open(namespace)
    const known = space.accounts.get(name)
    if (gone) {
      space.accounts.delete(name)
      if (space.accounts.size === 0) this.#spaces.delete(namespace)
    } else if (known) {
      known.quota = quota
      known.hard = hardOf(quota)
      known.stored = total(known, space)
    } else {
      this.#addAccount(space, quota)
    }
    this.#tell(namespace, name)
  }

  /** Quotas from before this program started are found when first asked for. */
  #space(namespace: string | undefined): Space | undefined {
    if (!this.#isLoaded) {
      this.#isLoaded = true
      for (const { object } of this.#options.store.list({ resource: 'resourcequotas' }).items) {
        const { namespace: its = '' } = object.metadata
        this.#addAccount(this.#spaces.get(its) ?? this.#open(its), object)
      }
    }
    return this.#spaces.get(namespace ?? '')
  }

  #open(namespace: string): Space {
    const { store, kinds } = this.#options
    const space: Space = { accounts: new Map(), objects: new Map() }
    const resources = new Set(kinds().flatMap((kind) => (kind.namespaced ? [storedResource(kind)] : [])))
    for (const resource of resources) {
      if (!isCounted(resource)) continue
      for (const { object } of store.list({ resource, namespace }).items) {
        space.objects.set(`${resource}/${object.metadata.name}`, { resource, object, usage: usageOf(resource, object) })
      }
    }
    this.#spaces.set(namespace, space)
    return space
  }

  #addAccount(space: Space, quota: KubernetesObject): void {
    const { name } = quota.metadata
    const account: QuotaAccount = { name, quota, hard: hardOf(quota), stored: new Map(), held: new Map() }
    account.stored = total(account, space)
    space.accounts.set(name, account)
  }

  #tell(namespace: string, quota: string): void {
    for (const listener of this.#listeners) listener(namespace, quota)
  }
}

/** The resource under which a kind is stored: some kinds are only views of another. */
export function storedResource(kind: Kind): string {
  return resourceNameOf(kind.storage?.kind ?? kind)
}

function hardOf(quota: KubernetesObject): Amounts {
  return amountsIn(valueAtPath(quota, ['spec', 'hard']))
}

function countsFor({ quota }: QuotaAccount, { resource, object }: Counted): boolean {
  return isInScope(quota, resource, object)
}

function total(account: QuotaAccount, space: Space): Amounts {
  let amounts: Amounts = new Map()
  for (const counted of space.objects.values()) {
    if (countsFor(account, counted)) amounts = combined(amounts, counted.usage, sum)
  }
  return amounts
}
