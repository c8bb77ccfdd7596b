import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** What the clients are to do. */
export interface ClientOrder {
  readonly gateway: string
  /** Where the engine itself listens. */
  readonly engine: { readonly host: string; readonly port: number }
  readonly model: string
  /** Through the gateway. */
  readonly streams: number
  /** Past it, straight from the engine: what is late there is late because of the machine. */
  readonly directStreams: number
}

/** A while, by the machine's clock. */
export interface TimeWindow {
  readonly from: number
  readonly to: number
}

/** Pieces of streams count by when they were sent, requests by when they were begun. */
export type What = 'piece' | 'direct piece' | 'models' | 'chat'

export interface WindowFigures {
  readonly count: number
  /** The part that was on its way for longer than `lateMs`. */
  readonly lateShare: number
  readonly p99: number
  readonly worst: number
}

export interface ClientReport {
  readonly windows: ReadonlyArray<Record<What, WindowFigures>>
  /** Streams that have ended, or have had no piece since the beginning of the last of the windows. */
  readonly lost: number
  readonly failures: readonly string[]
}

/** As long as nobody sees a stream stop. */
export const lateMs = 50
const patienceMs = 30_000

/** Many people at the gateway, in a process of their own: what measures must not be what stalls. */
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
