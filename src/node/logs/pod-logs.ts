import type { Clock } from '../../foundation/clock.ts'
import type { Pod } from '../../resources/pod.ts'
import { StatusError } from '../../resources/status-error.ts'
import { containerLogFolder, loggedAttempts, logPath, podLogsFolder } from './log-files.ts'
import { type LogRecord, logTime, renderRecord } from './log-format.ts'
import type { LogHub } from './log-hub.ts'
import { LogReader } from './log-reader.ts'

export interface PodLogOptions {
  readonly container?: string | undefined
  readonly follow: boolean
  readonly tailLines?: number | undefined
  readonly sinceSeconds?: number | undefined
  /** RFC 3339; the later of this and `sinceSeconds` counts. */
  readonly sinceTime?: string | undefined
  readonly limitBytes?: number | undefined
  readonly timestamps: boolean
  readonly previous: boolean
}

export interface PodLogsOptions {
  readonly dataDir: string
  readonly hub: LogHub
  readonly clock: Clock
}

const longestTail = 16 * 1024

/** The logs of Pods, as `kubectl logs` asks for them. */
export class PodLogs {
  readonly #options: PodLogsOptions

  constructor(options: PodLogsOptions) {
    this.#options = options
  }

  async *logs(pod: Pod, options: PodLogOptions, signal: AbortSignal): AsyncGenerator<Buffer> {
    const container = chosenContainer(pod, options.container)
    const path = await this.#pathOf(pod, container, options.previous)
    const since = this.#since(options)
    // Lets the client know that the log exists, before there is anything in it.
    if (options.follow) yield Buffer.alloc(0)
    yield* this.#show(await LogReader.open(path, options.tailLines), path, since, options, signal)
  }

  /** The last line of a container's log, with its time; empty if there is none. */
  async tail(pod: Pod, container: string, signal: AbortSignal): Promise<string> {
    const options = {
      container,
      follow: false,
      tailLines: 1,
      limitBytes: longestTail,
      timestamps: true,
      previous: false,
    }
    const parts: Buffer[] = []
    for await (const part of this.logs(pod, options, signal)) parts.push(part)
    return Buffer.concat(parts).toString('utf8')
  }

  /**
   * Calls `listen` with a container's output from now on; nothing written after this has resolved is missed. Returns
   * how to stop.
   */
  async hear(pod: Pod, container: string, listen: (said: Buffer) => void): Promise<() => void> {
    return this.#options.hub.hear(await this.#pathOf(pod, container, false), listen)
  }

  async *#show(
    reader: LogReader,
    path: string,
    since: string,
    options: Pick<PodLogOptions, 'follow' | 'timestamps' | 'limitBytes' | 'tailLines'>,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer> {
    let left = options.limitBytes ?? Number.POSITIVE_INFINITY
    // Lines written while the tail is read are not added to it, unless the client follows.
    let linesLeft = options.follow ? Number.POSITIVE_INFINITY : (options.tailLines ?? Number.POSITIVE_INFINITY)
    try {
      for await (const read of this.#read(reader, path, options.follow, signal)) {
        const records = read.slice(0, linesLeft)
        linesLeft -= records.length
        const output = Buffer.concat(render(records, since, options.timestamps))
        const allowed = output.subarray(0, Math.min(output.length, left))
        left -= allowed.length
        if (allowed.length > 0) yield allowed
        if (left <= 0 || linesLeft <= 0) return
      }
    } finally {
      await reader.close()
    }
  }

  #since({ sinceSeconds, sinceTime }: PodLogOptions): string {
    const time = sinceTime === undefined ? undefined : Date.parse(sinceTime)
    if (Number.isNaN(time)) throw badRequest(`sinceTime "${sinceTime?.slice(0, 64)}" is not a time`)
    const from = sinceSeconds === undefined ? undefined : this.#options.clock.now() - sinceSeconds * 1000
    if (from === undefined && time === undefined) return ''
    return logTime(Math.max(from ?? -Infinity, time ?? -Infinity))
  }

  /** Yields batches of records; when following, until the container has ended and everything is read. */
  async *#read(reader: LogReader, path: string, follow: boolean, signal: AbortSignal): AsyncGenerator<LogRecord[]> {
    const { hub } = this.#options
    let woken = Promise.withResolvers<void>()
    const wake = () => woken.resolve()
    const unsubscribe = hub.subscribe(path, wake)
    signal.addEventListener('abort', wake, { once: true })
    try {
      while (!signal.aborted) {
        woken = Promise.withResolvers<void>()
        // Asked before reading, so that everything written until the log is closed is read below.
        const live = hub.isLive(path)
        const records = await reader.next()
        if (records.length > 0) yield records
        else if (!follow || !live) return
        else await woken.promise
      }
    } finally {
      unsubscribe()
      signal.removeEventListener('abort', wake)
    }
  }

  async #pathOf(pod: Pod, container: string, previous: boolean): Promise<string> {
    const { namespace = '', name, uid = '' } = pod.metadata
    const folder = containerLogFolder(podLogsFolder(this.#options.dataDir), { namespace, name, uid }, container)
    const attempts = await loggedAttempts(folder)
    const status = statusOf(pod, container)
    // The newest log of a container that waits for its restart is the one of the previous run.
    const waits = status?.state?.waiting !== undefined && status.lastState?.terminated !== undefined
    const attempt = attempts[previous && !waits ? 1 : 0]
    if (attempt !== undefined) return logPath(folder, attempt)
    if (previous) throw badRequest(`previous terminated container "${container}" in pod "${name}" not found`)
    const reason = status?.state?.waiting?.reason ?? pod.status?.reason ?? 'ContainerCreating'
    throw badRequest(`container "${container}" in pod "${name}" is waiting to start: ${pullProblems[reason] ?? reason}`)
  }
}

/** The kubelet's texts for these waiting reasons. */
const pullProblems: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
}

function statusOf(pod: Pod, container: string) {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {}
  const statuses = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses]
  return statuses.find(({ name }) => name === container)
}

function chosenContainer(pod: Pod, wanted: string | undefined): string {
  const names = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map(({ name }) => name)
  const [first, ...others] = pod.spec.containers.map(({ name }) => name)
  if (wanted !== undefined && wanted !== '') {
    if (names.includes(wanted) || pod.spec.ephemeralContainers?.some(({ name }) => name === wanted)) return wanted
    throw badRequest(`container ${wanted} is not valid for pod ${pod.metadata.name}`)
  }
  if (first !== undefined && others.length === 0) return first
  throw badRequest(
    `a container name must be specified for pod ${pod.metadata.name}, choose one of: [${names.join(' ')}]`,
  )
}

function render(records: readonly LogRecord[], since: string, timestamps: boolean): Buffer[] {
  return records.filter(({ time }) => time >= since).map((record) => renderRecord(record, timestamps))
}

function badRequest(message: string): StatusError {
  return new StatusError('BadRequest', message)
}
