import type { Clock } from '../../foundation/clock.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { ClusterApi } from '../cluster-api.ts'
import { hostedPod, podContainer } from '../pods/pod-container.ts'
import type { PodAccess } from '../pods/pod-access.ts'
import { isSet } from '../http/request-options.ts'
import type { ResourceRequest } from '../http/resource-requests.ts'
import type { WatchSlots } from '../flow-control/watch-slots.ts'
import { forwardPorts, readPorts } from './pod-port-forward.ts'
import { runRemoteCommand, upgradeRequired } from './remote-command.ts'
import type { WantedStreams } from './remote-session.ts'

/** The same as the kubelet's. */
const idleMs = 4 * 60 * 60 * 1000
const mostWords = 1_000

/** `kubectl exec`, `attach` and `port-forward`. */
export class PodStreams {
  readonly #api: ClusterApi
  readonly #access: PodAccess
  readonly #slots: WatchSlots

  constructor(api: ClusterApi, access: PodAccess, slots: WatchSlots) {
    this.#api = api
    this.#access = access
    this.#slots = slots
  }

  async exec(request: ResourceRequest): Promise<void> {
    const { exchange, query } = request
    const exec = this.#access.exec?.bind(this.#access) ?? notOffered('pods/exec')
    const pod = this.#pod(request)
    const container = podContainer(pod, query.get('container') ?? '')
    hostedPod(pod)
    if (!exchange.upgrade) throw upgradeRequired()
    const wanted = wantedStreams(query)
    const words = query.getAll('command')
    if (words.length === 0)
      throw new StatusError('BadRequest', 'you must specify at least one command for the container')
    if (words.length > mostWords) throw new StatusError('BadRequest', `a command has at most ${mostWords} words`)
    await this.#hold(request, () =>
      runRemoteCommand(
        exchange,
        wanted,
        (streams, signal) => exec(pod, { container, words }, streams, signal),
        this.#times,
      ),
    )
  }

  async attach(request: ResourceRequest): Promise<void> {
    const { exchange, query } = request
    const attach = this.#access.attach?.bind(this.#access) ?? notOffered('pods/attach')
    const pod = this.#pod(request)
    const container = podContainer(pod, query.get('container') ?? '')
    hostedPod(pod)
    if (!exchange.upgrade) throw upgradeRequired()
    const wanted = wantedStreams(query)
    const run = (streams: Parameters<typeof attach>[2], signal: AbortSignal) => attach(pod, container, streams, signal)
    await this.#hold(request, () => runRemoteCommand(exchange, wanted, run, this.#times))
  }

  async portForward(request: ResourceRequest): Promise<void> {
    const { exchange, query } = request
    const connect = this.#access.connect?.bind(this.#access) ?? notOffered('pods/portforward')
    const ports = readPorts(query)
    const pod = this.#pod(request)
    hostedPod(pod)
    const toPort = (port: number, signal: AbortSignal) => connect(pod, port, signal)
    await this.#hold(request, () => forwardPorts({ exchange, pod, ports, connect: toPort }, this.#times))
  }

  get #times(): { clock: Clock; idleMs: number } {
    return { clock: this.#api.clock, idleMs }
  }

  #pod({ exchange, target }: ResourceRequest): Pod {
    const { method } = exchange.request
    if (method !== 'GET' && method !== 'POST') {
      throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
    }
    return podKind.schema.parse(this.#api.get(target.kind, { name: target.name ?? '', namespace: target.namespace }))
  }

  async #hold({ user }: ResourceRequest, serve: () => Promise<void>): Promise<void> {
    const release = this.#slots.take(user.name)
    try {
      await serve()
    } finally {
      release()
    }
  }
}

function wantedStreams(query: URLSearchParams): WantedStreams {
  const stdin = isSet(query, 'stdin')
  const stdout = isSet(query, 'stdout')
  const tty = isSet(query, 'tty')
  // A terminal has only one output.
  const stderr = isSet(query, 'stderr') && !tty
  if (stdin || stdout || stderr) return { stdin, stdout, stderr, tty }
  throw new StatusError('BadRequest', 'you must specify at least 1 of stdin, stdout, stderr')
}

function notOffered(name: string): never {
  throw new StatusError('NotImplemented', `${name} is not offered by this cluster`)
}
