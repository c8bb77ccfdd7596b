import type { Pod } from '../../resources/pod.ts'
import { type HostPort, hostPortsOf } from './host-ports.ts'

/**
 * Which Pods have which host ports. The scheduler keeps Pods with the same host port apart, but Pods that name their
 * node bypass it.
 */
export class HostPortLedger {
  readonly #held = new Map<string, readonly HostPort[]>()

  /** Notes the ports of a Pod that this node already runs. */
  hold(pod: Pod): void {
    const ports = hostPortsOf(pod, '')
    if (ports.length > 0) this.#held.set(pod.metadata.uid ?? '', ports)
  }

  /** `false` if another Pod has one of the Pod's ports. */
  take(pod: Pod): boolean {
    if (this.#held.has(pod.metadata.uid ?? '')) return true
    const others = [...this.#held.values()].flat()
    if (hostPortsOf(pod, '').some((port) => others.some((other) => areSame(port, other)))) return false
    this.hold(pod)
    return true
  }

  release(uid: string): void {
    this.#held.delete(uid)
  }
}

/** An empty address means all addresses, so it collides with each. */
function areSame(one: HostPort, other: HostPort): boolean {
  const meet = one.hostIP === other.hostIP || one.hostIP === '' || other.hostIP === ''
  return meet && one.hostPort === other.hostPort && one.protocol === other.protocol
}
