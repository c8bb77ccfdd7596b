import { type Kind, apiVersionOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { ShownList } from './list-answer.ts'
import type { ListPage } from '../reading/list-snapshots.ts'
import type { Representation } from './representation.ts'
import { type IncludeObject, columnsOf, partialMetadata, rowOf, tableOf } from './table.ts'

const rows = new WeakMap<KubernetesObject, { readonly key: string; readonly table: unknown }>()

/** How one client sees objects: whole, as table rows, or only their metadata. */
export class ObjectView {
  readonly #kind: Kind
  readonly #representation: Representation
  readonly #include: IncludeObject
  readonly #now: () => number

  constructor(kind: Kind, representation: Representation, query: URLSearchParams, now: () => number) {
    this.#kind = kind
    this.#representation = representation
    this.#include = readIncludeObject(query.get('includeObject') ?? '')
    this.#now = now
  }

  one(object: KubernetesObject, withColumns = true): unknown {
    switch (this.#representation) {
      case 'object':
        return object
      case 'partial':
        return partialMetadata(object)
      default:
        return this.#row(object, withColumns)
    }
  }

  /** Clients that watch the same see the same row and share its bytes, as long as the age in it reads the same. */
  #row(object: KubernetesObject, withColumns: boolean): unknown {
    const key = `${this.#kind.version} ${this.#include} ${withColumns} ${Math.floor(this.#now() / 1000)}`
    const known = rows.get(object)
    if (known?.key === key) return known.table
    const table = this.#table([object], { resourceVersion: object.metadata.resourceVersion }, withColumns)
    rows.set(object, { key, table })
    return table
  }

  list({ items, resourceVersion, continueToken, remaining }: ListPage): ShownList {
    const metadata = {
      resourceVersion,
      ...(continueToken !== undefined && { continue: continueToken, remainingItemCount: remaining }),
    }
    switch (this.#representation) {
      case 'object': {
        const frame = { kind: `${this.#kind.kind}List`, apiVersion: apiVersionOf(this.#kind), metadata, items: [] }
        return { frame, objects: items, show: (object) => object, shared: 'list' }
      }
      case 'partial': {
        const frame = { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items: [] }
        return { frame, objects: items, show: (object) => partialMetadata(object), shared: 'items' }
      }
      default: {
        const row = rowOf(this.#kind, this.#now(), this.#include)
        return { frame: this.#table([], metadata, true), objects: items, show: row, shared: 'nothing' }
      }
    }
  }

  /** A bookmark is an object of which only the version matters. */
  bookmark(revision: number, initialEventsEnd: boolean): unknown {
    const metadata = {
      resourceVersion: String(revision),
      ...(initialEventsEnd && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
    }
    switch (this.#representation) {
      case 'object':
        return { kind: this.#kind.kind, apiVersion: apiVersionOf(this.#kind), metadata }
      case 'partial':
        return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
      default: {
        const object = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
        const cells = columnsOf(this.#kind).map(() => '')
        const rows = [{ cells, object }]
        return { ...this.#table([], { resourceVersion: String(revision) }, false), rows }
      }
    }
  }

  #table(objects: readonly KubernetesObject[], metadata: Record<string, unknown>, withColumns: boolean) {
    return tableOf(this.#kind, objects, metadata, { now: this.#now(), include: this.#include, withColumns })
  }
}

function readIncludeObject(value: string): IncludeObject {
  if (value === '') return 'Metadata'
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value
  throw new StatusError('BadRequest', 'includeObject must be one of None, Metadata and Object')
}
