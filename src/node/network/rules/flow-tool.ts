import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type DatagramFlow, readFlows } from './datagram-flows.ts'

/** Access to the kernel's connection table. */
export interface FlowTool {
  /** UDP flows whose destination was rewritten. */
  list(): Promise<readonly DatagramFlow[]>
  /** Forgets flows, so that their next datagram follows the current rules. Takes some milliseconds each. */
  forget(flows: readonly DatagramFlow[]): Promise<void>
}

const run = promisify(execFile)
const limits = { timeout: 15_000, maxBuffer: 64 * 2 ** 20 }

/** Uses the program `conntrack`. */
export class ConntrackTool implements FlowTool {
  readonly #conntrack: string
  readonly #families: ReadonlyArray<'ipv4' | 'ipv6'>

  constructor(conntrack: string, withIpv6 = false) {
    this.#conntrack = conntrack
    this.#families = withIpv6 ? ['ipv4', 'ipv6'] : ['ipv4']
  }

  async list(): Promise<readonly DatagramFlow[]> {
    const listed = this.#families.map((family) =>
      run(this.#conntrack, ['-L', '-f', family, '-p', 'udp', '--dst-nat'], limits),
    )
    return (await Promise.all(listed)).flatMap(({ stdout }) => readFlows(stdout))
  }

  async forget(flows: readonly DatagramFlow[]): Promise<void> {
    for (const { source, sourcePort, destination, destinationPort } of flows) {
      const tuple = ['-s', source, '-d', destination, '--sport', String(sourcePort), '--dport', String(destinationPort)]
      // For conntrack, a flow that has ended in the meantime is an error.
      const family = source.includes(':') ? 'ipv6' : 'ipv4'
      await run(this.#conntrack, ['-D', '-f', family, '-p', 'udp', ...tuple], limits).catch(() => {})
    }
  }
}
