import { flushCompileCache } from 'node:module'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { ExposureEdge } from '../../exposure/edge/exposure-edge.ts'
import { RouteMirror } from '../../exposure/routes/route-mirror.ts'
import { systemClock } from '../../foundation/clock.ts'
import { errorMessage, SluiceError } from '../../foundation/errors.ts'
import { silentLogger } from '../../foundation/log.ts'
import { Metrics } from '../../foundation/metrics.ts'
import { TrustedProxies } from '../../gateway/access/trusted-proxies.ts'
import { Gateway } from '../../gateway/gateway.ts'
import { UsageCounter } from '../../gateway/usage/usage-counter.ts'
import { TurnClock } from '../../relay/socket/turn-clock.ts'
import type { ApiKey } from '../../resources/api-key.ts'
import type { Model } from '../../resources/model.ts'
import { LoadTable } from '../../traffic/endpoints/load-table.ts'
import { ClusterModelCatalog } from '../../traffic/model-catalog.ts'
import { WorkerPool } from '../../traffic/workers/worker-pool.ts'
import { joinLogFile } from '../data/log-file.ts'
import { LoopBoard } from '../loop-watch/loop-board.ts'
import { LoopWatch } from '../loop-watch/loop-watch.ts'
import { StuckLoopAlarm } from '../loop-watch/stuck-loop-alarm.ts'
import { ObjectMirror } from './object-mirror.ts'
import { PendingAnswers } from './pending-answers.ts'
import type {
  FromServingThread,
  ServedExposure,
  ServingData,
  ServingFace,
  ToServingThread,
} from './serving-messages.ts'
import { collectStartGarbage } from '../data/start-garbage.ts'

/** The main thread gives threads that do not answer one second; if it says nothing for three, it is stuck itself. */
const metricsDeadlineMs = 3_000
/** Longer than the main thread waits for the cluster. */
const catchUpDeadlineMs = 6_000
/** Time for the gateway to end streams that run through the edge with an error event before the edge cuts them off. */
const lastWordsMs = 500

/** What runs in a serving thread: the gateway and the edge, with copies of the objects that they need. */
class ServingProgram {
  readonly #tell: (message: FromServingThread) => void
  readonly #metrics = new Metrics()
  readonly #log
  /** Reads the time once per turn of the event loop: everything that happens in one turn shares it. */
  readonly #clock = new TurnClock(systemClock)
  readonly #models = new ObjectMirror<Model>()
  readonly #keys = new ObjectMirror<ApiKey>()
  readonly #routes = new RouteMirror()
  readonly #texts = new PendingAnswers<string>({ clock: systemClock, deadlineMs: metricsDeadlineMs })
  readonly #catchUps = new PendingAnswers<true>({ clock: systemClock, deadlineMs: catchUpDeadlineMs })
  readonly #usage = new UsageCounter({
    clock: this.#clock,
    tell: (served) => this.#tell({ type: 'usage', served }),
  })
  #tls: ServedExposure | undefined
  #wakeObstacle: string | undefined
  readonly #faces: { readonly gateway: Gateway | undefined; readonly exposure: ExposureEdge | undefined }

  constructor(data: ServingData, tell: (message: FromServingThread) => void) {
    this.#tell = tell
    this.#log = data.logPath === undefined ? silentLogger : joinLogFile(data.logPath)
    this.#faces = {
      gateway: data.gateway && this.#createGateway(data.gateway, data.row),
      exposure: data.exposure && this.#createEdge(data.exposure),
    }
    this.#faces.exposure?.addRoutes(this.#routes)
    const common = { clock: systemClock, log: this.#log }
    new LoopWatch({ ...common, loop: `serving-${data.row}`, metrics: this.#metrics }).start()
    if (data.ownerLoop) new StuckLoopAlarm({ ...common, loop: 'main', board: new LoopBoard(data.ownerLoop) }).start()
  }

  hear(message: ToServingThread): void {
    switch (message.type) {
      case 'models':
        return this.#models.hear(message.news)
      case 'keys':
        return this.#keys.hear(message.news)
      case 'routes':
        return this.#routes.hear(message.news)
      case 'wake-obstacle':
        this.#wakeObstacle = message.reason
        return
      case 'certificate':
        return this.#useCertificate(message.tls)
      case 'listen':
        return void this.#listen(message)
      case 'snapshot': {
        const { id } = message
        return void this.#metrics.snapshot().then((snapshot) => this.#tell({ type: 'snapshot', id, snapshot }))
      }
      case 'metrics':
        return this.#texts.answer(message.id, message.text)
      case 'caught-up':
        return this.#catchUps.answer(message.id, true)
      case 'stop':
        // In a thread this ends only the thread, after its log has been written.
        return void this.#close(message.graceMs).then(() => process.exit(0))
    }
  }

  #useCertificate(tls: ServedExposure): void {
    if (tls.cert === this.#tls?.cert) return
    this.#tls = tls
    this.#faces.exposure?.reloadTls()
  }

  #createEdge(first: ServedExposure): ExposureEdge {
    this.#tls = first
    return new ExposureEdge({
      tls: () => this.#tls ?? first,
      clock: this.#clock,
      log: this.#log,
      metrics: this.#metrics,
      metricsText: () => this.#metricsOfAll(),
    })
  }

  #createGateway({ settings, loads, poolPort }: NonNullable<ServingData['gateway']>, row: number): Gateway {
    const { namespace, wakeDeadlineMs, requireApiKeys, bodyLimitBytes, heldLimitBytes } = settings
    const clock = this.#clock
    return new Gateway({
      catalog: new ClusterModelCatalog({ models: this.#models, namespace, catchUp: () => this.#catchUp() }),
      pool: new WorkerPool({ port: poolPort, loads: new LoadTable(loads), row, clock, wakeDeadlineMs }),
      keys: requireApiKeys ? this.#keys : undefined,
      wakeObstacle: () => this.#wakeObstacle,
      usage: this.#usage,
      trustedProxies: TrustedProxies.parse(settings.trustedProxies, '--trusted-proxies'),
      settings: { maxBodyBytes: bodyLimitBytes, maxHeldBytes: heldLimitBytes },
      log: this.#log,
      turnClock: clock,
      metrics: this.#metrics,
      metricsText: () => this.#metricsOfAll(),
      chatPageDirectory: settings.chatPageDirectory,
    })
  }

  async #catchUp(): Promise<void> {
    await this.#catchUps.ask((id) => this.#tell({ type: 'catch-up', id }))
  }

  async #metricsOfAll(): Promise<string> {
    const text = await this.#texts.ask((id) => this.#tell({ type: 'metrics', id }))
    if (text === undefined) throw new SluiceError('metrics_unavailable')
    return text
  }

  async #listen({ face, host, port, reusePort, outside }: Extract<ToServingThread, { type: 'listen' }>): Promise<void> {
    try {
      const listening = await this.#faceOf(face).listen(host, port, { reusePort, outside })
      this.#tell({ type: 'listening', face, port: listening.port })
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : ''
      this.#tell({ type: 'not-listening', face, code, reason: errorMessage(error) })
    }
  }

  #faceOf(face: ServingFace): Gateway | ExposureEdge {
    const served = this.#faces[face]
    if (!served) throw new Error(`there is no ${face} to listen for`)
    return served
  }

  async #close(graceMs: number): Promise<void> {
    const { gateway, exposure } = this.#faces
    await Promise.all([gateway?.close({ graceMs }), exposure?.close({ graceMs: graceMs + lastWordsMs })])
    this.#usage.close()
  }
}

function serve(data: ServingData, owner: MessagePort): void {
  const program = new ServingProgram(data, (message) => owner.postMessage(message, []))
  owner.on('message', (message: ToServingThread) => program.hear(message))
  // Saves the compile cache now: a thread may be ended without a chance to do it later.
  flushCompileCache()
  collectStartGarbage()
}

const data: ServingData = workerData
if (parentPort) serve(data, parentPort)
