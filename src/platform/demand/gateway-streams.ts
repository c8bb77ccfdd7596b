import type { ObjectCache } from '../../cluster/informer.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Pod, isPodFinished, isPodReady } from '../../resources/pod.ts'
import { type GatewayAddress, type ListenToGateway, followGateway } from './gateway-stream.ts'
import type { JoinedDemand } from './joined-demand.ts'

export interface GatewayStreamsOptions {
  readonly namespace: string
  readonly pods: ObjectCache<Pod>
  readonly demand: JoinedDemand
  readonly listen: ListenToGateway
  readonly clock: Clock
  readonly log: Logger
}

/** On the Pods of gateways; their containers name the port at which they tell their demand. */
export const gatewayRoleLabel = 'sluice.dev/role'
export const gatewayRole = 'gateway'
export const demandPortName = 'demand'

interface Stream {
  readonly address: GatewayAddress
  readonly stop: AbortController
  readonly ended: Promise<void>
}

/** Listens to every gateway of the cluster, as its Pods come and go. */
export class GatewayStreams implements Component {
  readonly name = 'gateway streams'
  readonly #options: GatewayStreamsOptions
  readonly #streams = new Map<string, Stream>()
  #unsubscribe = () => {}

  constructor(options: GatewayStreamsOptions) {
    this.#options = options
  }

  start(): void {
    const { pods } = this.#options
    this.#unsubscribe = pods.onChange(({ object }) => {
      if (isGateway(object)) this.#look()
    })
    this.#look()
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    const streams = [...this.#streams.keys()].map((gateway) => this.#end(gateway))
    this.#options.demand.forget()
    await Promise.all(streams)
  }

  #look(): void {
    const { pods, namespace, demand } = this.#options
    if (!pods.synced) return
    const gateways = new Map<string, GatewayAddress>()
    let areReady = false
    for (const pod of pods.list()) {
      const address = pod.metadata.namespace === namespace && isGateway(pod) ? demandAddress(pod) : undefined
      if (!address) continue
      gateways.set(pod.metadata.name, address)
      areReady ||= isPodReady(pod)
    }
    demand.expect(gateways.keys(), areReady)
    for (const [gateway, { address }] of this.#streams) {
      if (!isSame(gateways.get(gateway), address)) void this.#end(gateway)
    }
    for (const [gateway, address] of gateways) if (!this.#streams.has(gateway)) this.#begin(gateway, address)
  }

  #begin(gateway: string, address: GatewayAddress): void {
    const { demand, listen, clock, log } = this.#options
    const stop = new AbortController()
    const ended = followGateway(
      {
        gateway,
        address,
        listen,
        onFrame: (frame) => {
          if (!stop.signal.aborted) demand.hear(gateway, frame)
        },
        onLost: () => demand.lose(gateway),
        clock,
        log,
      },
      stop.signal,
    )
    this.#streams.set(gateway, { address, stop, ended })
  }

  #end(gateway: string): Promise<void> {
    const stream = this.#streams.get(gateway)
    this.#streams.delete(gateway)
    stream?.stop.abort(new Error('the gateway is gone'))
    // It may still be there, at another address, where nobody has heard it yet.
    this.#options.demand.lose(gateway)
    return stream?.ended ?? Promise.resolve()
  }
}

function isGateway({ metadata }: Pod): boolean {
  return metadata.labels?.[gatewayRoleLabel] === gatewayRole
}

/** Undefined while the gateway does not run: then nobody can ask it. */
function demandAddress(pod: Pod): GatewayAddress | undefined {
  const { spec, status } = pod
  const host = status?.podIP
  const container = spec.containers.find(({ ports }) => ports?.some(({ name }) => name === demandPortName))
  const port = container?.ports?.find(({ name }) => name === demandPortName)?.containerPort
  const runs = status?.containerStatuses?.some(({ name, state }) => name === container?.name && state?.running)
  if (isPodFinished(pod) || !host || port === undefined || runs !== true) return undefined
  return { host, port }
}

function isSame(left: GatewayAddress | undefined, right: GatewayAddress): boolean {
  return left?.host === right.host && left.port === right.port
}
