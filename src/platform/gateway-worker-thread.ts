import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../foundation/clock.ts'
import { errorMessage, SluiceError } from '../foundation/errors.ts'
import { silentLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import { Gateway } from '../gateway/gateway.ts'
import { TrustedProxies } from '../gateway/trusted-proxies.ts'
import type { ApiKey } from '../resources/api-key.ts'
import type { Model } from '../resources/model.ts'
import { LoadTable } from '../traffic/load-table.ts'
import { ClusterModelCatalog } from '../traffic/model-catalog.ts'
import { WorkerPool } from '../traffic/worker-pool.ts'
import type { FromGatewayWorker, GatewayWorkerData, ToGatewayWorker } from './gateway-worker-messages.ts'
import { joinLogFile } from './log-file.ts'
import { ObjectMirror } from './object-mirror.ts'
import { PendingAnswers } from './pending-answers.ts'

const metricsDeadlineMs = 5_000

/** A gateway in a thread of its own, which serves what its owner's one would. */
function serve(data: GatewayWorkerData, owner: MessagePort): void {
  const { settings, row, poolPort } = data
  const { namespace, wakeDeadlineMs } = settings
  const clock = systemClock
  const metrics = new Metrics()
  const models = new ObjectMirror<Model>()
  const keys = new ObjectMirror<ApiKey>()
  const texts = new PendingAnswers<string>({ clock, deadlineMs: metricsDeadlineMs })
  const tell = (message: FromGatewayWorker) => owner.postMessage(message, [])
  const gateway = new Gateway({
    catalog: new ClusterModelCatalog({ models, namespace }),
    pool: new WorkerPool({ port: poolPort, loads: new LoadTable(data.loads), row, clock, wakeDeadlineMs }),
    keys: settings.requireApiKeys ? keys : undefined,
    trustedProxies: TrustedProxies.parse(settings.trustedProxies, '--trusted-proxies'),
    settings: { maxBodyBytes: settings.bodyLimitBytes, maxHeldBytes: settings.heldLimitBytes },
    log: settings.logPath === undefined ? silentLogger : joinLogFile(settings.logPath),
    clock,
    metrics,
    metricsText: async () => {
      const text = await texts.ask((id) => tell({ type: 'metrics', id }))
      if (text === undefined) throw new SluiceError('metrics_unavailable')
      return text
    },
    chatPageDirectory: settings.chatPageDirectory,
  })

  const listen = async (host: string, port: number) => {
    try {
      tell({ type: 'listening', port: (await gateway.listen(host, port, { reusePort: true })).port })
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : ''
      tell({ type: 'not-listening', code, reason: errorMessage(error) })
    }
  }

  owner.on('message', (message: ToGatewayWorker) => {
    switch (message.type) {
      case 'models':
        return models.hear(message.news)
      case 'keys':
        return keys.hear(message.news)
      case 'listen':
        return void listen(message.host, message.port)
      case 'snapshot': {
        const { id } = message
        return void metrics.snapshot().then((snapshot) => tell({ type: 'snapshot', id, snapshot }))
      }
      case 'metrics':
        return texts.answer(message.id, message.text)
      case 'stop':
        // Ends this thread only, after its log has been written.
        return void gateway.close({ graceMs: message.graceMs }).then(() => process.exit(0))
    }
  })
}

const data: GatewayWorkerData = workerData
if (parentPort) serve(data, parentPort)
