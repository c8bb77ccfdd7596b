import type { ContainerStreams } from '../pods/pod-access.ts'

/** Which streams a client asks for. */
export interface WantedStreams {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  readonly tty: boolean
}

/** A client that is connected to a program, by whatever protocol. */
export interface RemoteSession {
  readonly streams: ContainerStreams
  /** Aborted when the client has left, or was idle for too long. */
  readonly left: AbortSignal
  /** Tells how the program ended, when all its output is on its way. */
  sendStatus(status: unknown): Promise<void>
  /** Says that this is all, with a code of the WebSocket protocol; the client closes the connection. */
  close(code: number, reason: string): void
  destroy(): void
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>
}
