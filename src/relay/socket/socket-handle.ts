import { Socket } from 'node:net'

/** What a socket's stream has below it: one end of a TCP connection, as Node's own streams use it. */
export interface SocketHandle {
  /** Called for what was read; `bytesRead` says how much, or with less than 1 that there was something else. */
  onread: (this: SocketHandle, buffer: unknown) => unknown
  /**
   * Returns an error number, or 0. The request hears of what `isUnderWay`, and must not be used for anything before
   * that.
   */
  writeBuffer(request: WriteRequest, bytes: Buffer): number
}

export interface WriteRequest {
  oncomplete?: (status: number) => void
  /** Kept as long as the system may read from it. */
  buffer?: Buffer
}

interface StreamBinding {
  readonly WriteWrap: new () => WriteRequest
  /** How the last call went, of any handle. */
  readonly streamBaseState: Int32Array
  readonly kReadBytesOrError: number
  readonly kLastWriteWasAsync: number
}

const binding = streamBinding()
const state = binding?.streamBaseState ?? new Int32Array(1)
const readAt = binding?.kReadBytesOrError ?? 0
const underWayAt = binding?.kLastWriteWasAsync ?? 0

/** The handle of an open connection that is no more than that: TLS has a stream of its own in between. */
export function handleOf(socket: Socket): SocketHandle | undefined {
  if (!binding || Object.getPrototypeOf(socket) !== Socket.prototype) return undefined
  const handle: unknown = Reflect.get(socket, '_handle')
  return isHandle(handle) ? handle : undefined
}

export function bytesRead(): number {
  return state[readAt] ?? 0
}

/** Whether the last write goes on after its call has returned. */
export function isUnderWay(): boolean {
  return state[underWayAt] !== 0
}

export function writeRequest(): WriteRequest {
  if (!binding) throw new Error('there is no handle to write to')
  return new binding.WriteWrap()
}

/** Not there in every version of Node: everything works without it, only slower. */
function streamBinding(): StreamBinding | undefined {
  try {
    const value: unknown = Reflect.apply(Reflect.get(process, 'binding'), process, ['stream_wrap'])
    return isBinding(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isBinding(value: unknown): value is StreamBinding {
  if (typeof value !== 'object' || value === null) return false
  const { WriteWrap, streamBaseState, kReadBytesOrError, kLastWriteWasAsync }: Partial<StreamBinding> = value
  return (
    typeof WriteWrap === 'function' &&
    streamBaseState instanceof Int32Array &&
    typeof kReadBytesOrError === 'number' &&
    typeof kLastWriteWasAsync === 'number'
  )
}

function isHandle(value: unknown): value is SocketHandle {
  if (typeof value !== 'object' || value === null) return false
  const { onread, writeBuffer }: Partial<SocketHandle> = value
  return typeof onread === 'function' && typeof writeBuffer === 'function'
}
