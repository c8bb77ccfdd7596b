import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { EventRecorder } from '../../cluster/event-recorder.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { LoopBoardShape } from '../loop-watch/loop-board.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { type Listening, listenOn } from '../listen.ts'
import type { ServingFace } from '../serving/serving-messages.ts'
import {
  type ExposureToServe,
  type GatewayToServe,
  type ServingNews,
  ServingThreads,
} from '../serving/serving-threads.ts'

interface ServedAt {
  readonly port: number
  /**
   * Sockets that already listen outside this program's network namespace: one for each thread, replacements included.
   */
  readonly outside?: number[] | undefined
}

export interface ServingRoleOptions {
  readonly client: ClusterClient
  /** The object that Events about lost threads are recorded on, if there is one. */
  readonly concerned: () => KubernetesObject | undefined
  readonly host: string
  /** How many threads to run, at least one. */
  readonly count: number
  readonly gateway: (ServedAt & { readonly served: GatewayToServe }) | undefined
  readonly exposure: (ServedAt & { readonly served: ExposureToServe }) | undefined
  /** The log file that the threads write to. */
  readonly logPath: string
  /** How long running requests may take to finish at a stop. */
  readonly stopGraceMs?: number | undefined
  readonly ownerLoop: LoopBoardShape
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** How long running requests may take to finish when everything stops, unless somebody says otherwise. */
const usualStopGraceMs = 10_000

/** Runs the threads that serve the gateway and exposed services, and knows where they listen. */
export class ServingRole implements Component {
  readonly name = 'serving threads'
  readonly #options: ServingRoleOptions
  readonly #threads: ServingThreads
  readonly #events: EventRecorder
  #gateway: Listening | undefined
  #exposure: Listening = { host: '', port: 0 }

  constructor(options: ServingRoleOptions) {
    this.#options = options
    const { client, gateway, exposure, count, logPath, ownerLoop, clock, log, metrics } = options
    this.#events = new EventRecorder({ client, component: 'sluice-serving', clock, log })
    this.#threads = new ServingThreads({
      count,
      gateway: gateway?.served,
      exposure: exposure?.served,
      logPath,
      ownerLoop,
      clock,
      log,
      metrics,
      news: (news) => this.#record(news),
    })
  }

  /** A component to start first, so that the threads load while everything else starts. */
  get early(): Component {
    const nothingLeft = { graceMs: 0 }
    return {
      name: 'serving threads, early',
      start: () => this.#threads.begin(),
      stop: () => this.#threads.close(nothingLeft),
    }
  }

  async start(): Promise<void> {
    const { gateway, exposure } = this.#options
    if (gateway) this.#gateway = await this.#listen('gateway', gateway)
    if (exposure) this.#exposure = await this.#listen('exposure', exposure)
  }

  async stop(): Promise<void> {
    await this.#threads.close({ graceMs: this.#options.stopGraceMs ?? usualStopGraceMs })
  }

  /** `undefined` if there is no gateway. */
  get gateway(): Listening | undefined {
    return this.#gateway
  }

  get exposure(): Listening {
    return this.#exposure
  }

  #listen(face: ServingFace, { port, outside }: ServedAt): Promise<Listening> {
    const { host } = this.#options
    const listener = { listen: (at: string, wanted: number) => this.#threads.listen(face, at, wanted, outside) }
    return listenOn(listener, { name: face, flag: `--${face}-port`, host, port })
  }

  #record(news: ServingNews): void {
    const about = this.#options.concerned()
    if (!about) return
    if (news.type === 'lost') {
      const message = `A thread that serves was lost with its connections: ${news.reason}. It is started again.`
      this.#events.record(about, 'Warning', 'ServingThreadLost', message)
    } else this.#events.record(about, 'Normal', 'ServingThreadBack', 'A thread that serves is there again.')
  }
}
