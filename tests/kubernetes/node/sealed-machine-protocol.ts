import type { Socket } from 'node:net'

/** What the first line of a connection to a sealed machine asks for. */
export type Order =
  /** From then on the connection is one to this address inside. */
  | { readonly type: 'connect'; readonly host: string; readonly port: number }
  /** Runs a program to its end, and answers with `Ran`. */
  | { readonly type: 'run'; readonly program: string; readonly args: readonly string[] }
  /** Starts a program that goes on, and answers when it runs. */
  | {
      readonly type: 'start'
      readonly name: string
      readonly program: string
      readonly args: readonly string[]
      /** Where its output goes. */
      readonly log: string
    }
  /** Kills a program that was started, and answers when it has ended. */
  | { readonly type: 'kill'; readonly name: string }

/** The answer to every order but `connect`. */
export interface Ran {
  readonly code: number
  readonly output: string
}

export const socketName = 'machine.sock'

/** Makes one connection of two: what comes in at one goes out at the other, and they end together. */
export function joinSockets(one: Socket, other: Socket): void {
  one.pipe(other)
  other.pipe(one)
  for (const [socket, opposite] of [
    [one, other],
    [other, one],
  ] as const) {
    socket.on('error', () => opposite.destroy())
    socket.on('close', () => opposite.destroy())
  }
}
