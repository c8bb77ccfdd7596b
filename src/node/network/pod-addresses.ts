/** 127.64.0.0/10: loopback addresses that nothing else uses by habit. */
const firstAddress = (127 << 24) | (64 << 16)
const addressCount = 2 ** 22

/**
 * Which loopback address belongs to which Pod. Where it begins is given, so that two nodes on one machine rarely meet.
 */
export class PodAddresses {
  readonly #byPod = new Map<string, string>()
  readonly #taken = new Set<string>()
  #next: number

  constructor(seed = 0) {
    this.#next = ((seed % addressCount) + addressCount) % addressCount
  }

  /** An address nobody has; the same Pod gets a different one each time it asks until it holds one. */
  propose(): string {
    for (let tries = 0; tries < addressCount; tries += 1) {
      const offset = this.#next
      this.#next = (this.#next + 1) % addressCount
      const address = addressAt(offset)
      // Those that look like a network or its broadcast confuse people and some programs.
      const last = offset & 0xff
      if (last !== 0 && last !== 255 && !this.#taken.has(address)) return address
    }
    throw new Error('every Pod address is in use')
  }

  /** False when another Pod has it. */
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

/** Where to begin, from something that is the node's own. */
export function addressSeed(text: string): number {
  let hash = 0
  for (const character of text) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0
  return hash % addressCount
}
