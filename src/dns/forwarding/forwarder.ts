import { randomInt } from 'node:crypto'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { AnswerCache, ForeignAnswer } from './answer-cache.ts'
import type { DnsMetrics } from '../dns-metrics.ts'
import { nameKey } from '../messages/domain-name.ts'
import { askOverTcp, askOverUdp } from './exchange.ts'
import { type Message, type Question, mostMessageBytes, responseCodes } from '../messages/message.ts'
import { writeMessage } from '../messages/message-writer.ts'
import { ownEdns } from '../read-query.ts'
import type { Upstream } from './resolvers-file.ts'

export interface ForwarderOptions {
  readonly upstreams: () => Promise<readonly Upstream[]>
  /** Whether asking there would be asking this server. */
  readonly isOurselves: (upstream: Upstream) => boolean
  readonly cache: AnswerCache
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: DnsMetrics
}

export interface ForeignQuestion {
  readonly question: Question
  /** Who asks, for its share of the questions in progress. */
  readonly client: string
  readonly dnssecOk: boolean
  readonly checkingDisabled: boolean
}

/** How long an attempt may take, and how many there are: together less than the 5 s that C libraries wait. */
export const attemptMs = 2_000
const mostAttempts = 2
/** Questions in progress, in all and per client. */
export const mostQuestions = { inAll: 1_000, perClient: 100 }
/** For this long, a resolver that did not answer is asked last. */
const mistrustMs = 10_000

const refusal: ForeignAnswer = noAnswer(responseCodes.REFUSED)
const failure: ForeignAnswer = noAnswer(responseCodes.SERVFAIL)

/** Asks the machine's resolvers for names outside the cluster, and caches their answers for a while. */
export class Forwarder {
  readonly #options: ForwarderOptions
  /**
   * Each question is in progress only once, whoever asks it, so that a question which comes back to us goes round no
   * further.
   */
  readonly #underWay = new Map<string, Promise<ForeignAnswer>>()
  readonly #clients = new Map<string, number>()
  readonly #failedAt = new Map<string, number>()
  readonly #stop = new AbortController()
  #waiting = 0

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  /** Never rejects: a failure is an answer, too. */
  async ask(asked: ForeignQuestion): Promise<ForeignAnswer> {
    const { cache, clock, metrics } = this.#options
    const key = keyOf(asked)
    const known = cache.get(key, clock.now())
    if (known) {
      metrics.forwarded.series('cached').add()
      return known
    }
    const mine = this.#clients.get(asked.client) ?? 0
    if (this.#waiting >= mostQuestions.inAll || mine >= mostQuestions.perClient || this.#stop.signal.aborted) {
      metrics.forwarded.series('refused').add()
      return refusal
    }
    this.#waiting++
    this.#clients.set(asked.client, mine + 1)
    try {
      const joined = this.#underWay.get(key)
      if (joined) metrics.forwarded.series('joined').add()
      return await (joined ?? this.#begin(key, asked))
    } finally {
      this.#waiting--
      const left = (this.#clients.get(asked.client) ?? 1) - 1
      if (left > 0) this.#clients.set(asked.client, left)
      else this.#clients.delete(asked.client)
    }
  }

  /** Whoever still waits gets a failure. */
  close(): void {
    this.#stop.abort()
  }

  #begin(key: string, asked: ForeignQuestion): Promise<ForeignAnswer> {
    const { cache, clock, metrics } = this.#options
    const begunAt = clock.now()
    const work = this.#attempts(asked).then((answer) => {
      this.#underWay.delete(key)
      metrics.forwardSeconds.observe((clock.now() - begunAt) / 1000)
      metrics.forwarded.series(answer === failure ? 'failed' : 'answered').add()
      return answer === failure ? answer : cache.put(key, answer, clock.now())
    })
    this.#underWay.set(key, work)
    return work
  }

  async #attempts(asked: ForeignQuestion): Promise<ForeignAnswer> {
    const { upstreams, isOurselves, log } = this.#options
    const all = await upstreams().catch(() => [])
    const usable = this.#inOrder(all.filter((upstream) => !isOurselves(upstream)))
    for (let attempt = 0; attempt < mostAttempts && !this.#stop.signal.aborted; attempt++) {
      const upstream = usable[attempt % usable.length]
      if (!upstream) break
      try {
        return await this.#attempt(asked, upstream)
      } catch (error) {
        this.#failedAt.set(placeOf(upstream), this.#options.clock.now())
        log.debug({ err: error, upstream: placeOf(upstream) }, 'a resolver did not answer')
      }
    }
    return failure
  }

  async #attempt(
    { question, dnssecOk, checkingDisabled }: ForeignQuestion,
    upstream: Upstream,
  ): Promise<ForeignAnswer> {
    const { clock } = this.#options
    const query: Message = {
      ...queryHead,
      id: randomInt(0x1_0000),
      checkingDisabled,
      questions: [question],
      edns: { ...ownEdns, dnssecOk },
    }
    const bytes = writeMessage(query, mostMessageBytes)
    const begunAt = clock.now()
    const signal = this.#stop.signal
    let answer = await askOverUdp(query, bytes, upstream, { clock, deadlineMs: attemptMs, signal })
    if (answer.truncated) {
      const deadlineMs = Math.max(1, attemptMs - (clock.now() - begunAt))
      answer = await askOverTcp(query, bytes, upstream, { clock, deadlineMs, signal })
    }
    this.#failedAt.delete(placeOf(upstream))
    const { rcode, answers, authorities, additionals, authenticData } = answer
    return { rcode, answers, authorities, additionals, authenticData }
  }

  /** In the order of the file, with those that failed lately at the end. */
  #inOrder(upstreams: readonly Upstream[]): readonly Upstream[] {
    const now = this.#options.clock.now()
    for (const [place, failedAt] of this.#failedAt) if (now - failedAt > mistrustMs) this.#failedAt.delete(place)
    const failed = (upstream: Upstream) => (this.#failedAt.has(placeOf(upstream)) ? 1 : 0)
    return upstreams.toSorted((one, other) => failed(one) - failed(other))
  }
}

const queryHead = {
  response: false,
  opcode: 0,
  authoritative: false,
  truncated: false,
  recursionDesired: true,
  recursionAvailable: false,
  authenticData: false,
  rcode: responseCodes.NOERROR,
  answers: [],
  authorities: [],
  additionals: [],
}

function noAnswer(rcode: number): ForeignAnswer {
  return { rcode, answers: [], authorities: [], additionals: [], authenticData: false }
}

function placeOf({ address, port }: Upstream): string {
  return `${address} ${port}`
}

function keyOf({ question, dnssecOk, checkingDisabled }: ForeignQuestion): string {
  return `${question.type} ${dnssecOk ? 1 : 0}${checkingDisabled ? 1 : 0} ${nameKey(question.name)}`
}
