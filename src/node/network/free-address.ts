import { createServer } from 'node:net'
import type { PodAddresses } from './pod-addresses.ts'

const mostTries = 16

export type FreeAddress = { readonly address: string } | { readonly refused: string }

/** Finds a loopback address on which all of the Pod's ports are free, and holds it for the Pod. */
export async function holdFreeAddress(
  addresses: PodAddresses,
  podUid: string,
  ports: readonly number[],
): Promise<FreeAddress> {
  const held = addresses.of(podUid)
  if (held !== undefined) return { address: held }
  let problem: BindProblem | undefined
  for (let tries = 0; tries < mostTries; tries += 1) {
    const address = addresses.propose()
    // Held while it is tried, since another Pod may be looking at the same time.
    if (!addresses.hold(podUid, address)) continue
    problem = await firstProblem(address, ports)
    if (!problem) return { address }
    addresses.release(podUid)
  }
  return { refused: explain(problem) }
}

interface BindProblem {
  readonly port: number
  readonly code: string
}

async function firstProblem(address: string, ports: readonly number[]): Promise<BindProblem | undefined> {
  for (const port of ports.length > 0 ? new Set(ports) : [0]) {
    const code = await bindProblem(address, port)
    if (code !== '') return { port, code }
  }
  return undefined
}

/** Without the addresses that were tried: repeated events must have the same text to be counted as one. */
function explain(problem: BindProblem | undefined): string {
  if (!problem) return 'No address of this node is free for the Pod.'
  const { port, code } = problem
  if (code === 'EADDRINUSE') {
    return (
      `The port ${port} is taken (EADDRINUSE): another Pod or a program of this machine listens on all addresses there, which on ` +
      `this node only one can do per port. Have that one listen on its own address (the variable POD_IP) or on another port.`
    )
  }
  if (code === 'EACCES') {
    return `The user who runs this node may not listen on port ${port} (EACCES). Give the Pod a port above 1023.`
  }
  return `No address of this node can be bound for the Pod: port ${port}: ${code}.`
}

/** Empty if the port can be bound. */
function bindProblem(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.name))
    server.listen({ host, port, exclusive: true }, () => {
      // The port is free as soon as this returns; only the event comes later.
      server.close()
      resolve('')
    })
  })
}
