import type { Socket } from 'node:net'

export interface Speakers {
  /** Its first bytes are still to be read from the socket. */
  readonly tls: () => void
  readonly http: () => void
  /** Called in any case, once: also when the connection has ended before it said anything. */
  readonly decided: () => void
}

/** The record type that every TLS handshake begins with. */
const handshakeRecord = 22
const [firstLetter, lastLetter] = [0x41, 0x5a]

/** Waits for a connection's first byte, which tells what it speaks. What is neither TLS nor HTTP is cut off. */
export function sortByFirstByte(socket: Socket, speakers: Speakers): void {
  const onData = (chunk: Buffer): void => {
    socket.pause()
    socket.off('end', onEnd).off('close', speakers.decided)
    speakers.decided()
    const first = chunk[0] ?? 0
    if (first === handshakeRecord) {
      socket.unshift(chunk)
      speakers.tls()
    } else if (first >= firstLetter && first <= lastLetter) speakers.http()
    else socket.destroy()
  }
  // One that ends before it has said anything has nothing to be told.
  const onEnd = (): void => void socket.destroy()
  socket.once('end', onEnd).once('close', speakers.decided)
  socket.on('error', () => {})
  socket.once('data', onData)
}
