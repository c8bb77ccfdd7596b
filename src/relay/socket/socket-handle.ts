import { Socket } from 'node:net'

/** The handle below a socket's stream: one end of a TCP connection, as Node's streams use it internally. */
export interface SocketHandle {
  /** Called after a read; `bytesRead` is the length, or less than 1 for something else. */
  onread: (this: SocketHandle, buffer: unknown) => unknown
  /** Returns an error number, or 0. If the write `isUnderWay`, the request is in use until it completes. */
  writeBuffer(request: WriteRequest, bytes: Buffer): number
}

export interface WriteRequest {
  oncomplete?: (status: number) => void
  /** Kept alive while the system may read from it. */
  buffer?: Buffer
}

interface StreamBinding {
  readonly WriteWrap: new () => WriteRequest
  /** The state of the last call on any handle. */
  readonly streamBaseState: Int32Array
  readonly kReadBytesOrError: number
  readonly kLastWriteWasAsync: number
}

const binding = streamBinding()
const state = binding?.streamBaseState ?? new Int32Array(1)
const readAt = binding?.kReadBytesOrError ?? 0
const underWayAt = binding?.kLastWriteWasAsync ?? 0

/** The handle of a plain TCP connection; `undefined` for others, such as TLS. */
export function handleOf(socket: Socket): SocketHandle | undefined {
  if (!binding || Object.getPrototypeOf(socket) !== Socket.prototype) return undefined
  const handle: unknown = Reflect.get(socket, '_handle')
  return isHandle(handle) ? handle : undefined
}

export function bytesRead(): number {
  return state[readAt] ?? 0
}

/** Whether the last write continues after its call returned. */
export function isUnderWay(): boolean {
  return state[underWayAt] !== 0
}

export function writeRequest(): WriteRequest {
  if (!binding) throw new Error('there is no handle to write to')
  return new binding.WriteWrap()
}

/** Not in every version of Node: without it everything works, but slower. */
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
