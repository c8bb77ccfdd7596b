import { keyOf, refOf } from '../../resources/kubernetes-object.ts'
import { type Pod, isPodFinished } from '../../resources/pod.ts'
import { hostPortClaims } from './host-port-claims.ts'
import { type Amounts, podRequests } from './pod-requests.ts'

interface Entry {
  readonly uid: string
  readonly node: string
  readonly requests: Amounts
}

/** What the Pods on each node use, kept up to date by changes, so that placing a Pod does not look at all others. */
export class NodeLedger {
  readonly #entries = new Map<string, Entry>()
  readonly #totals = new Map<string, Map<string, number>>()

  get totals(): ReadonlyMap<string, Amounts> {
    return this.#totals
  }

  /** Counts the Pod as it is now. A Pod that is being deleted still counts: it holds its cards until it is gone. */
  put(pod: Pod, node = pod.spec.nodeName): void {
    const key = keyOf(refOf(pod))
    const uid = pod.metadata.uid ?? ''
    const before = this.#entries.get(key)
    // The cache may be behind: a Pod that was just bound may still appear without its node.
    if (node === undefined && before?.uid === uid) return
    this.#forget(key)
    if (node === undefined || node === '' || isPodFinished(pod)) return
    const entry = { uid, node, requests: new Map([...podRequests(pod), ...hostPortClaims(pod)]) }
    this.#entries.set(key, entry)
    this.#add(entry, 1)
  }

  /** Only if it is this very Pod that is counted. */
  remove(pod: Pod): void {
    const key = keyOf(refOf(pod))
    if (this.#entries.get(key)?.uid === (pod.metadata.uid ?? '')) this.#forget(key)
  }

  #forget(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#entries.delete(key)
    this.#add(entry, -1)
  }

  #add({ node, requests }: Entry, sign: 1 | -1): void {
    const total = this.#totals.get(node) ?? new Map<string, number>()
    this.#totals.set(node, total)
    for (const [name, amount] of requests) total.set(name, (total.get(name) ?? 0) + sign * amount)
  }
}
