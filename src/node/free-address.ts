import { createServer } from 'node:net'
import type { PodAddresses } from './pod-addresses.ts'

const mostTries = 16

export type FreeAddress = { readonly address: string } | { readonly refused: string }

/** Finds an address on which all the Pod's ports can be bound, and holds it for the Pod. */
export async function holdFreeAddress(
  addresses: PodAddresses,
  podUid: string,
  ports: readonly number[],
): Promise<FreeAddress> {
  const held = addresses.of(podUid)
  if (held !== undefined) return { address: held }
  let problem = ''
  for (let tries = 0; tries < mostTries; tries += 1) {
    const address = addresses.propose()
    // Held while it is tried: another Pod may be looking at the same time.
    if (!addresses.hold(podUid, address)) continue
    problem = ''
    for (const port of ports.length > 0 ? ports : [0]) problem ||= await bindProblem(address, port)
    if (problem === '') return { address }
    addresses.release(podUid)
  }
  return {
    refused: `No address of this machine is free for the Pod (something may listen on all of them): ${problem}.`,
  }
}

function bindProblem(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve(error.message))
    server.listen({ host, port, exclusive: true }, () => {
      // The port is free again as soon as this returns; only the news of it takes another turn.
      server.close()
      resolve('')
    })
  })
}
