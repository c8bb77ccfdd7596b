import { lastBytes } from '../containers/cut-text.ts'
import { longestMessage } from '../containers/termination-message.ts'

/** The error of `bind`, as the C library, Go, Node, Python, Java and others write it. */
const addressInUse = /EADDRINUSE|address (is )?already in use/i

const explanation =
  'A port was in use: a program listens on all addresses, which on this node only one Pod can do per port, since Pods share ' +
  'the network of the machine. Have it listen on its own address (the variable POD_IP) or on another port.'

export function saysAddressInUse(lastWords: string): boolean {
  return addressInUse.test(lastWords)
}

/** Adds to a termination message what the program could not know: that Pods share ports on this node. */
export function withPortExplanation(message: string | undefined): string {
  if (message === undefined) return explanation
  return `${lastBytes(message, longestMessage - explanation.length - 1)}\n${explanation}`
}
