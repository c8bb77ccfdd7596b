import { networkInterfaces } from 'node:os'

/** The machine's addresses, without loopback. */
export function addressesOfMachine(): ReadonlySet<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => address)))
}

/** Whether the address belongs to the machine itself rather than to a Pod with its own network. */
export function isOfMachine(address: string, own: ReadonlySet<string> = addressesOfMachine()): boolean {
  return address.startsWith('127.') || own.has(address)
}
