import type { Logger } from '../foundation/log.ts'
import type { ForeignAnswer } from './forwarding/answer-cache.ts'
import type { ClusterNames } from './names/cluster-names.ts'
import type { DnsMetrics } from './dns-metrics.ts'
import { type DomainName, sameName } from './messages/domain-name.ts'
import type { Forwarder } from './forwarding/forwarder.ts'
import {
  type Message,
  type ResourceRecord,
  codeName,
  leastUdpBytes,
  mostMessageBytes,
  mostUdpBytes,
  responseCodes,
  typeName,
} from './messages/message.ts'
import { writeMessage } from './messages/message-writer.ts'
import { type Query, readQuery, replyTo } from './read-query.ts'

export interface ResolverOptions {
  readonly names: ClusterNames
  readonly forwarder: Forwarder
  readonly log: Logger
  readonly metrics: DnsMetrics
}

export interface Client {
  readonly address: string
  readonly transport: 'udp' | 'tcp'
}

/** Turns the bytes of a query into those of its answer; see `Resolver`. */
export interface QueryAnswerer {
  /** `undefined`: send nothing. Never throws and never rejects. */
  answer(bytes: Buffer, client: Client): Buffer | undefined | Promise<Buffer | undefined>
}

/** Answers for the names of the cluster, and asks the forwarder for all others. */
export class Resolver implements QueryAnswerer {
  readonly #options: ResolverOptions

  constructor(options: ResolverOptions) {
    this.#options = options
  }

  /** Synchronously for names of the cluster. */
  answer(bytes: Buffer, client: Client): Buffer | undefined | Promise<Buffer | undefined> {
    try {
      const read = readQuery(bytes)
      if (read.kind === 'ignored') return undefined
      if (read.kind === 'refused') return this.#written(read.reply, leastUdpBytes)
      const limit = client.transport === 'tcp' ? mostMessageBytes : udpLimitOf(read.query.message)
      const reply = this.#resolve(read.query, client)
      if (!(reply instanceof Promise)) return this.#written(reply, limit)
      return reply.then(
        (message) => this.#written(message, limit),
        (error: unknown) => this.#broken(error),
      )
    } catch (error) {
      return this.#broken(error)
    }
  }

  #resolve({ message, question }: Query, { address }: Client): Message | Promise<Message> {
    const { names, forwarder } = this.#options
    const found = names.answer(question)
    if (found.kind === 'answer') {
      const { rcode, answers, authorities, additionals } = found
      return replyTo(message, { authoritative: true, rcode, answers, authorities, additionals })
    }
    const asked = found.kind === 'alias' ? { ...question, name: found.target } : question
    const { dnssecOk = false } = message.edns ?? {}
    const foreign = { question: asked, client: address, dnssecOk, checkingDisabled: message.checkingDisabled }
    return forwarder.ask(foreign).then((answer) => {
      if (found.kind === 'alias') return replyTo(message, behindAlias(found.aliases, answer))
      const records = (list: readonly ResourceRecord[]) => list.map((one) => inCaseOf(one, question.name))
      const { authenticData, rcode, answers, authorities, additionals } = answer
      return replyTo(message, {
        authenticData,
        rcode,
        answers: records(answers),
        authorities: records(authorities),
        additionals: records(additionals),
      })
    })
  }

  #written(message: Message, limit: number): Buffer {
    const [question] = message.questions
    this.#options.metrics.queries.series(question ? typeName(question.type) : 'other', codeName(message.rcode)).add()
    return writeMessage(message, limit)
  }

  #broken(error: unknown): undefined {
    this.#options.log.error({ err: error }, 'a DNS query could not be answered')
    return undefined
  }
}

/** What the client accepts over UDP, within what we dare to send. */
function udpLimitOf({ edns }: Message): number {
  return edns ? Math.min(mostUdpBytes, Math.max(leastUdpBytes, edns.udpBytes)) : leastUdpBytes
}

/** A Service that is an alias of an outside name: the alias itself is valid whatever is known of that name. */
function behindAlias(aliases: readonly ResourceRecord[], { rcode, answers }: ForeignAnswer): Partial<Message> {
  const failed = rcode !== responseCodes.NOERROR && rcode !== responseCodes.NXDOMAIN
  if (failed) return { rcode: responseCodes.SERVFAIL }
  return { authoritative: true, answers: [...aliases, ...answers] }
}

/** A cached answer has the case in which it was first asked for. */
function inCaseOf(record: ResourceRecord, name: DomainName): ResourceRecord {
  return sameName(record.name, name) ? { ...record, name } : record
}
