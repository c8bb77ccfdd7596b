import type { Duplex, Readable, Writable } from 'node:stream'
import type { Pod } from '../../resources/pod.ts'

export interface LogOptions {
  readonly container?: string | undefined
  readonly follow: boolean
  readonly tailLines?: number | undefined
  readonly sinceSeconds?: number | undefined
  /** RFC 3339. */
  readonly sinceTime?: string | undefined
  readonly limitBytes?: number | undefined
  readonly timestamps: boolean
  readonly previous: boolean
}

/** The streams between a client and a program in a container. Streams that the client did not ask for are missing. */
export interface ContainerStreams {
  readonly stdin?: Readable | undefined
  readonly stdout?: Writable | undefined
  /** Missing with a terminal, where everything comes on stdout. */
  readonly stderr?: Writable | undefined
  /** The size of the client's terminal, whenever it changes; present only when the client asked for a terminal. */
  readonly terminal?: AsyncIterable<{ readonly columns: number; readonly rows: number }> | undefined
}

/** How a program in a container ended. */
export interface ExitResult {
  readonly exitCode: number
  readonly signal?: string | undefined
}

export interface Usage {
  /** Cores, on average over the window. */
  readonly cpus: number
  readonly memoryBytes: number
}

/** What was used during a while that has just ended. */
export interface NodeUsage {
  readonly endedAt: number
  readonly windowMs: number
  /** Of all that runs on the machine, if it is the cluster's alone. */
  readonly machine?: Usage | undefined
  readonly containers: ReadonlyArray<Usage & { readonly podUid: string; readonly container: string }>
}

/**
 * How the API server reaches what runs inside a Pod. The node implements it, the platform passes it on. What a node
 * does not offer is left out, and refused by name before a connection is upgraded. A refusal is a `StatusError`.
 */
export interface PodAccess {
  /** Ends when the log does, or when the signal is aborted. */
  logs(pod: Pod, options: LogOptions, signal: AbortSignal): AsyncIterable<Buffer>
  /** Starts another program in a container; resolves when it has ended. Aborting the signal kills it. */
  exec?(
    pod: Pod,
    command: { readonly container: string; readonly words: readonly string[] },
    streams: ContainerStreams,
    signal: AbortSignal,
  ): Promise<ExitResult>
  /**
   * Connects to a container's main program; resolves when it has ended or the client has left, which does not stop it.
   */
  attach?(pod: Pod, container: string, streams: ContainerStreams, signal: AbortSignal): Promise<ExitResult>
  /** What all containers use now, measured if it was not just before. */
  usage?(): Promise<NodeUsage>
  /** A connection to a port of the Pod. The caller must end it. */
  connect?(pod: Pod, port: number, signal: AbortSignal): Promise<Duplex>
}
