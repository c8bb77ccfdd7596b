import type { Clock } from '../../foundation/clock.ts'
import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { Store } from '../../store/store.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission/admission.ts'
import { storedResource } from '../quota/quota-ledger.ts'
import { type BoundTable, type ObjectBound, defaultBounds } from './bound-table.ts'
import { ObjectCounts, sizeOf } from './object-counts.ts'

export interface ObjectBoundsOptions {
  readonly store: Store
  readonly kinds: () => readonly Kind[]
  readonly clock: Clock
  readonly table?: BoundTable | undefined
}

interface Excess {
  readonly what: string
  readonly used: number
  readonly limit: number
}

/** The share that the cluster's own controllers may use, compared to others. */
const ownReserve = 1.1
/** How often the counts may be checked against the store. */
const recountEveryMs = 5_000
/** An update that makes an object this much larger is refused like a new object. */
const smallGrowth = 4 * 1024

/**
 * Refuses new objects beyond what a cluster on one machine holds well: a program in a loop is told so, instead of
 * filling memory and disk. Existing objects can always be changed and deleted.
 */
export class ObjectBounds implements AdmissionPlugin {
  readonly #options: ObjectBoundsOptions
  readonly #table: BoundTable
  readonly #counts = new Map<string, ObjectCounts>()
  readonly #recountedAt = new Map<string, number>()
  /** The uids of objects that are being created: they count before they are stored. */
  readonly #pending = new Set<string | undefined>()
  #isLoaded = false
  #writtenBytes = 0

  constructor(options: ObjectBoundsOptions) {
    this.#options = options
    this.#table = options.table ?? defaultBounds
  }

  /** How many bytes have been written since the start. */
  get writtenBytes(): number {
    return this.#writtenBytes
  }

  hold(request: AdmissionRequest): (() => void) | undefined {
    const { operation, kind, object } = request
    if (operation === 'update') return this.#refuseGrowth(request)
    if (operation !== 'create') return undefined
    const resource = storedResource(kind)
    const excess = this.#excess(resource, request)
    if (excess && this.#isWrong(resource)) return this.hold(request)
    if (excess) throw refusal(kind, object, excess)
    const counts = this.#countsOf(resource)
    const { uid } = object.metadata
    counts.add(object)
    this.#pending.add(uid)
    return () => {
      if (this.#pending.delete(uid)) counts.remove(object)
    }
  }

  changed(kind: Kind, object: KubernetesObject, gone: boolean): void {
    this.#pending.delete(object.metadata.uid)
    const counts = this.#countsOf(storedResource(kind))
    if (gone) counts.remove(object)
    else this.#writtenBytes += counts.written(object)
  }

  /**
   * Once the cluster holds too many bytes in all, updates that make an object much larger are refused, too, except the
   * cluster's own.
   */
  #refuseGrowth({ kind, object, previous, user }: AdmissionRequest): undefined {
    if (!user || !previous) return
    const excess = this.#excessBytes(storedResource(kind), 1)
    if (excess && sizeOf(object) - sizeOf(previous) > smallGrowth) throw refusal(kind, object, excess)
  }

  #excess(resource: string, { object, user }: AdmissionRequest): Excess | undefined {
    const reserve = user ? 1 : ownReserve
    const { inAll, perNamespace } = this.#boundOf(resource)
    const counts = this.#countsOf(resource)
    const { namespace } = object.metadata
    if (counts.inAll >= inAll * reserve) return { what: `${resource} in the cluster`, used: counts.inAll, limit: inAll }
    const used = counts.inNamespace(namespace ?? '')
    if (namespace !== undefined && used >= perNamespace * reserve) {
      return { what: `${resource} in namespace ${namespace}`, used, limit: perNamespace }
    }
    return this.#excessBytes(resource, reserve)
  }

  #excessBytes(resource: string, reserve: number): Excess | undefined {
    const { bytes = Infinity } = this.#boundOf(resource)
    const used = this.#countsOf(resource).bytes
    if (used >= bytes * reserve) return { what: `bytes of ${resource}`, used, limit: bytes }
    let all = 0
    for (const counts of this.#counts.values()) all += counts.bytes
    return all >= this.#table.bytes * reserve
      ? { what: 'bytes of all objects', used: all, limit: this.#table.bytes }
      : undefined
  }

  #boundOf(resource: string): ObjectBound {
    return this.#table.resources[resource] ?? this.#table.everythingElse
  }

  #countsOf(resource: string): ObjectCounts {
    if (!this.#isLoaded) {
      this.#isLoaded = true
      for (const kind of this.#options.kinds()) this.#countsOf(storedResource(kind))
    }
    let counts = this.#counts.get(resource)
    if (!counts) this.#counts.set(resource, (counts = new ObjectCounts(this.#options.store, resource)))
    return counts
  }

  /** Recounts what is stored before somebody is refused, but not each time. */
  #isWrong(resource: string): boolean {
    const now = this.#options.clock.now()
    if (now - (this.#recountedAt.get(resource) ?? -Infinity) < recountEveryMs || this.#pending.size > 0) return false
    this.#recountedAt.set(resource, now)
    const counts = this.#countsOf(resource)
    const before = [counts.inAll, counts.bytes]
    counts.recount()
    return counts.inAll !== before[0] || counts.bytes !== before[1]
  }
}

function refusal(kind: Kind, object: KubernetesObject, { what, used, limit }: Excess): StatusError {
  const { name } = object.metadata
  const why = `exceeded what this cluster holds: ${what}, used: ${used}, limited: ${limit}`
  const advice = 'delete what is not needed any more'
  const message = `${resourceNameOf(kind)} "${name}" is forbidden: ${why}; ${advice}`
  return new StatusError('Forbidden', message, { name, group: kind.group || undefined, kind: kind.plural })
}
