import type { ContainerStreams } from '../pods/pod-access.ts'

export interface WantedStreams {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  readonly tty: boolean
}

/** A client that is connected to a program, by whatever protocol. */
export interface RemoteSession {
  readonly streams: ContainerStreams
  /** Aborted when the client has left or was idle for too long. */
  readonly left: AbortSignal
  /** Reports how the program ended, after all its output. */
  sendStatus(status: unknown): Promise<void>
  /** Closes with a WebSocket code; the client then closes the connection. */
  close(code: number, reason: string): void
  destroy(): void
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>
}
