import type { TableBuilder } from './rule-text.ts'

/**
 * Marks of packets in the network of an ordinary user. `client`: sent by `forward-port.pl`, which knows the number,
 * too, for a client elsewhere than on the machine, and with that client's address. `answer`: the Pod's answer to it.
 */
export const forwardedMarks = { client: 0x51, answer: 0x53 }

/** Where routes of answers are kept: all lead here, to whoever has the address that they are sent to. */
export const answerTable = 0x53

export interface ForwardedFamily {
  /** Matches addresses of a list as the sender's. */
  readonly match: string
  /** Ranges that nobody outside has an address of. */
  readonly own: readonly string[]
  /** Judges what is sent to a Pod. */
  readonly ingress: string
}

/**
 * Ports of the machine lead to Pods of an ordinary user by a program in between, whose packets are this network's own:
 * nothing leads them through where packets of others are judged, and answers would leave by the way to their client.
 */
export function addForwarded(table: TableBuilder, cables: string, families: readonly ForwardedFamily[]): void {
  const { client, answer } = forwardedMarks
  table.chain('forwarded_answers', [
    'type filter hook prerouting priority mangle; policy accept;',
    `iifname "${cables}*" ct direction reply ct mark ${client} meta mark set ${answer}`,
  ])
  table.chain('ingress_output', [
    'type filter hook output priority filter; policy accept;',
    `meta mark ${client} goto forwarded`,
  ])
  table.chain('forwarded', [
    'ct state established,related accept',
    `ct mark set ${client}`,
    ...families.map(({ match, own }) => `${match} saddr { ${own.join(', ')} } drop`),
    ...families.map(({ ingress }) => ingress),
  ])
}
