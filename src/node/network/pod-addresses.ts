/** 127.64.0.0/10: loopback addresses that nothing else normally uses. */
const firstAddress = (127 << 24) | (64 << 16)
const addressCount = 2 ** 22

/**
 * Which loopback address belongs to which Pod. The first address is given, so that two nodes on one machine rarely
 * collide.
 */
export class PodAddresses {
  readonly #byPod = new Map<string, string>()
  readonly #taken = new Set<string>()
  #next: number

  constructor(seed = 0) {
    this.#next = ((seed % addressCount) + addressCount) % addressCount
  }

  /** Proposes a free address, another one each time. */
  propose(): string {
    for (let tries = 0; tries < addressCount; tries += 1) {
      const offset = this.#next
      this.#next = (this.#next + 1) % addressCount
      const address = addressAt(offset)
      // Skips addresses that look like a network or broadcast address, which confuse people and some programs.
      const last = offset & 0xff
      if (last !== 0 && last !== 255 && !this.#taken.has(address)) return address
    }
    throw new Error('every Pod address is in use')
  }

  /** `false` if another Pod has it. */
  hold(podUid: string, address: string): boolean {
    if (this.#byPod.get(podUid) === address) return true
    if (this.#taken.has(address)) return false
    this.release(podUid)
    this.#byPod.set(podUid, address)
    this.#taken.add(address)
    return true
  }

  get isInUse(): boolean {
    return this.#byPod.size > 0
  }

  of(podUid: string): string | undefined {
    return this.#byPod.get(podUid)
  }

  release(podUid: string): void {
    const address = this.#byPod.get(podUid)
    if (address === undefined) return
    this.#byPod.delete(podUid)
    this.#taken.delete(address)
  }
}

function addressAt(offset: number): string {
  const value = firstAddress + offset
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.')
}

/** A starting point derived from something unique to the node. */
export function addressSeed(text: string): number {
  let hash = 0
  for (const character of text) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0
  return hash % addressCount
}
