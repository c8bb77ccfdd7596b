import { networkInterfaces } from 'node:os'

/** The machine's own addresses, without those of its loopback. */
export function addressesOfMachine(): ReadonlySet<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => address)))
}

/** Whether a program of this machine, and not a Pod with a network of its own, is at the address. */
export function isOfMachine(address: string, own: ReadonlySet<string> = addressesOfMachine()): boolean {
  return address.startsWith('127.') || own.has(address)
}
