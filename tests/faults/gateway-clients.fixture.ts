import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** What the clients have to do. */
export interface ClientOrder {
  readonly gateway: string
  /** The address of the engine itself. */
  readonly engine: { readonly host: string; readonly port: number }
  readonly model: string
  /** How many streams go through the gateway. */
  readonly streams: number
  /** How many streams come directly from the engine. What is late there is late because of the machine. */
  readonly directStreams: number
}

/** A period by the machine's clock, in milliseconds since the Unix epoch. */
export interface TimeWindow {
  readonly from: number
  readonly to: number
}

/** What is measured. Pieces of streams count by the time they were sent, requests by the time they began. */
export type What = 'piece' | 'direct piece' | 'models' | 'chat'

export interface WindowFigures {
  readonly count: number
  /** The share that took longer than `lateMs`. */
  readonly lateShare: number
  readonly p99: number
  readonly worst: number
}

export interface ClientReport {
  readonly windows: ReadonlyArray<Record<What, WindowFigures>>
  /** Streams that have ended, or have had no piece since the last window began. */
  readonly lost: number
  readonly failures: readonly string[]
}

/** Up to this delay nobody notices that a stream pauses. */
export const lateMs = 50
const patienceMs = 30_000

/** Many clients of the gateway, in a process of their own, so that stalls of the test do not count. */
export class GatewayClients {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  /** Resolves when every stream has begun. */
  static async start(order: ClientOrder): Promise<GatewayClients> {
    const child = fork(join(import.meta.dirname, 'gateway-clients-program.fixture.ts'), [JSON.stringify(order)])
    const clients = new GatewayClients(child)
    try {
      await clients.#heard()
    } catch (error) {
      clients.kill()
      throw new Error('the streams did not begin', { cause: error })
    }
    return clients
  }

  async report(windows: readonly TimeWindow[]): Promise<ClientReport> {
    this.#child.send(windows)
    const [report] = (await this.#heard()) as [ClientReport]
    return report
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #heard(): Promise<unknown[]> {
    return once(this.#child, 'message', { signal: AbortSignal.timeout(patienceMs) })
  }
}
