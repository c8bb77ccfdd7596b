import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** The handle below a socket's stream: one end of a TCP connection, as Node's streams use it internally. */
export interface SocketHandle {
  /** Called after a read; `bytesRead` is the length, or less than 1 for something else. */
  onread: (this: SocketHandle, buffer: unknown) => unknown
  /** Returns an error number, or 0. If the write `isUnderWay`, the request is in use until it completes. */
  writeBuffer(request: WriteRequest, bytes: Buffer): number
}

interface SecureHandle extends SocketHandle {
  /** What is read goes into this buffer from now on. */
  useUserBuffer(buffer: Uint8Array): void
}

/** What Node's `onread` is told: where to read to, and whom to call then. */
export interface SharedRead {
  readonly buffer: Uint8Array
  /** Returns false to stop reading for now. */
  readonly callback: (bytes: number, buffer: Uint8Array) => boolean
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
let onreadSymbols: ReturnType<typeof symbolsOf> | undefined

/** The handle of a plain TCP connection; `undefined` for others, such as TLS. */
export function handleOf(socket: Socket): SocketHandle | undefined {
  if (!binding || Object.getPrototypeOf(socket) !== Socket.prototype) return undefined
  const handle: unknown = Reflect.get(socket, '_handle')
  return isHandle(handle) ? handle : undefined
}

/**
 * The handle of a TLS connection, above that of TCP. Not more than one write may be under way on it: Node ends the
 * process otherwise.
 */
export function secureHandleOf(socket: Socket): SecureHandle | undefined {
  if (!binding || Object.getPrototypeOf(socket) !== TLSSocket.prototype) return undefined
  const handle: unknown = Reflect.get(socket, '_handle')
  return isHandle(handle) && hasUserBuffer(handle) ? handle : undefined
}

/**
 * Lets Node read an accepted TLS connection with `onread`, which it offers only for connections that a program opens.
 * Returns false if that is impossible; then the connection is as it was.
 */
export function readSecureWith(socket: Socket, onread: SharedRead): boolean {
  const handle = secureHandleOf(socket)
  const { kBuffer, kBufferCb } = symbolsOf(socket)
  // What was read before would be left behind.
  if (!handle || !kBuffer || !kBufferCb || socket.readableLength > 0) return false
  Reflect.set(socket, kBuffer, onread.buffer)
  Reflect.set(socket, kBufferCb, onread.callback)
  handle.useUserBuffer(onread.buffer)
  return true
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

function hasUserBuffer(handle: SocketHandle): handle is SecureHandle {
  return typeof Reflect.get(handle, 'useUserBuffer') === 'function'
}

/** Where Node's sockets keep what `onread` says. */
function symbolsOf(socket: Socket): { readonly [name: string]: symbol | undefined } {
  return (onreadSymbols ??= Object.fromEntries(
    Object.getOwnPropertySymbols(socket).map((symbol) => [symbol.description ?? '', symbol]),
  ))
}
