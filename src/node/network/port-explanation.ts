import { lastBytes } from '../containers/cut-text.ts'
import { longestMessage } from '../containers/termination-message.ts'

/** The error of `bind` in the words of the C library, Go, Node, Python, Java … */
const addressInUse = /EADDRINUSE|address (is )?already in use/i

const explanation =
  'A port was in use: a program listens on all addresses, which on this node only one Pod can do per port, since Pods share ' +
  'the network of the machine. Have it listen on its own address (the variable POD_IP) or on another port.'

export function saysAddressInUse(lastWords: string): boolean {
  return addressInUse.test(lastWords)
}

/** What a container said at its end, and what it could not know about this node. */
export function withPortExplanation(message: string | undefined): string {
  if (message === undefined) return explanation
  return `${lastBytes(message, longestMessage - explanation.length - 1)}\n${explanation}`
}
