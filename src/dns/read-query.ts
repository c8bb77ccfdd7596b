import {
  type Edns,
  type Message,
  type Question,
  internetClass,
  mostUdpBytes,
  recordTypes,
  responseCodes,
} from './messages/message.ts'
import { MalformedMessage, type MessageHead, headerBytes, readHead, readMessage } from './messages/message-reader.ts'

/** A question that can be answered. */
export interface Query {
  readonly message: Message
  readonly question: Question
}

export type ReadQuery =
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'refused'; readonly reply: Message }
  /** Must not be answered: answers to answers would go on for ever. */
  | { readonly kind: 'ignored' }

/** What this server says about itself to clients that use EDNS. */
export const ownEdns: Edns = { udpBytes: mostUdpBytes, version: 0, dnssecOk: false }

/** Queries have one question and next to nothing else; longer ones are not read any further. */
const mostRecords = { answers: 1, authorities: 1, additionals: 2 }

export function readQuery(bytes: Buffer): ReadQuery {
  if (bytes.length < headerBytes) return { kind: 'ignored' }
  const head = readHead(bytes)
  if (head.response) return { kind: 'ignored' }
  if (head.opcode !== 0) return refused(head, responseCodes.NOTIMP)
  const { questions, answers, authorities, additionals } = head.counts
  const tooMany =
    answers > mostRecords.answers || authorities > mostRecords.authorities || additionals > mostRecords.additionals
  if (questions !== 1 || tooMany) return refused(head, responseCodes.FORMERR)
  try {
    const message = readMessage(bytes)
    const [question] = message.questions
    if (!question) return refused(head, responseCodes.FORMERR)
    if (message.edns && message.edns.version > 0) return refused(message, responseCodes.BADVERS, message)
    if (question.class !== internetClass || transfers.has(question.type)) {
      return refused(message, responseCodes.REFUSED, message)
    }
    return { kind: 'query', query: { message, question } }
  } catch (error) {
    if (error instanceof MalformedMessage) return refused(head, responseCodes.FORMERR)
    throw error
  }
}

/** Transfers of whole zones, and OPT, which is not a type of data. */
const transfers = new Set<number>([recordTypes.AXFR, recordTypes.IXFR, recordTypes.OPT])

export function replyTo(message: Message, sections: Partial<Message>): Message {
  const { dnssecOk = false } = message.edns ?? {}
  return {
    ...bareReply(message, responseCodes.NOERROR),
    questions: message.questions,
    edns: message.edns && { ...ownEdns, dnssecOk },
    ...sections,
  }
}

function refused(head: MessageHead | Message, rcode: number, message?: Message): ReadQuery {
  return { kind: 'refused', reply: message ? replyTo(message, { rcode }) : bareReply(head, rcode) }
}

function bareReply({ id, opcode, recursionDesired, checkingDisabled }: MessageHead | Message, rcode: number): Message {
  return {
    id,
    response: true,
    opcode,
    authoritative: false,
    truncated: false,
    recursionDesired,
    recursionAvailable: true,
    authenticData: false,
    checkingDisabled,
    rcode,
    questions: [],
    answers: [],
    authorities: [],
    additionals: [],
    edns: undefined,
  }
}
