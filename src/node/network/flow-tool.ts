import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type DatagramFlow, readFlows } from './datagram-flows.ts'

/** What the kernel remembers of who is led where. */
export interface FlowTool {
  /** Those over UDP that were led elsewhere. */
  list(): Promise<readonly DatagramFlow[]>
  /** The next datagram of each is led anew. Each takes some milliseconds. */
  forget(flows: readonly DatagramFlow[]): Promise<void>
}

const run = promisify(execFile)
const limits = { timeout: 15_000, maxBuffer: 64 * 2 ** 20 }

/** By the program `conntrack`. */
export class ConntrackTool implements FlowTool {
  readonly #conntrack: string

  constructor(conntrack: string) {
    this.#conntrack = conntrack
  }

  async list(): Promise<readonly DatagramFlow[]> {
    const { stdout } = await run(this.#conntrack, ['-L', '-f', 'ipv4', '-p', 'udp', '--dst-nat'], limits)
    return readFlows(stdout)
  }

  async forget(flows: readonly DatagramFlow[]): Promise<void> {
    for (const { source, sourcePort, destination, destinationPort } of flows) {
      const tuple = ['-s', source, '-d', destination, '--sport', String(sourcePort), '--dport', String(destinationPort)]
      // One that has ended by itself meanwhile is an error to the program.
      await run(this.#conntrack, ['-D', '-p', 'udp', ...tuple], limits).catch(() => {})
    }
  }
}
