import type { Pod } from '../../resources/pod.ts'
import { type HostPort, hostPortsOf } from './host-ports.ts'

/**
 * Which Pods have which of the machine's ports. The scheduler keeps Pods apart that ask for the same; those that name
 * their node themselves never meet it.
 */
export class HostPortLedger {
  readonly #held = new Map<string, readonly HostPort[]>()

  /** Of a Pod that the node took on before: what it has is its own. */
  hold(pod: Pod): void {
    const ports = hostPortsOf(pod, '')
    if (ports.length > 0) this.#held.set(pod.metadata.uid ?? '', ports)
  }

  /** False when another Pod has one of the ports that this one asks for. */
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

/** All addresses of the machine are each of them. */
function areSame(one: HostPort, other: HostPort): boolean {
  const meet = one.hostIP === other.hostIP || one.hostIP === '' || other.hostIP === ''
  return meet && one.hostPort === other.hostPort && one.protocol === other.protocol
}
