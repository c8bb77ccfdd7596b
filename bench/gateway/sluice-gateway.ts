// The gateway as `sluice up` composes it, in its serving thread, alone in a process, over Models whose one Pod is the
// stub upstream.
//   node bench/gateway/sluice-gateway.ts UPSTREAM_PORT LOG_FILE [MODELS] [ADDRESSES] [UPSTREAM_HOST]
// It prints its port.
import { systemClock } from '../../src/foundation/clock.ts'
import { Metrics } from '../../src/foundation/metrics.ts'
import { defaultGatewaySettings } from '../../src/gateway/gateway-settings.ts'
import { openLogFile } from '../../src/platform/data/log-file.ts'
import { ServingThreads } from '../../src/platform/serving/serving-threads.ts'
import type { ApiKey } from '../../src/resources/api-key.ts'
import type { Model } from '../../src/resources/model.ts'
import type { Pod } from '../../src/resources/pod.ts'
import { FakeCache, fakeModel, fakePod } from '../../src/traffic/cluster-view.fixture.ts'
import { LoadTable } from '../../src/traffic/endpoints/load-table.ts'
import { PodPool } from '../../src/traffic/pod-pool.ts'
import { defaultTrafficSettings } from '../../src/traffic/traffic-settings.ts'
import { modelAddress, modelName } from './bench-models.ts'

const [upstreamPort, logPath = '/dev/null', modelCount = '1', addressCount = '1', upstreamHost] = process.argv.slice(2)
const namespace = 'sluice'
const pods = new FakeCache<Pod>()
const models = new FakeCache<Model>()
const keys = new FakeCache<ApiKey>()
const log = openLogFile(logPath)
const metrics = new Metrics()
const clock = systemClock
const loads = LoadTable.shared({ workers: 1, epochMs: clock.now() })
const pool = new PodPool({ namespace, models, pods, clock, log, metrics, loads, settings: {} })
for (let index = 0; index < Number(modelCount); index += 1) {
  const name = modelName(index)
  models.put(fakeModel(name, 'Ready'))
  const host = upstreamHost ?? modelAddress(index % Number(addressCount))
  pods.put(fakePod(`${name}-0`, { model: name, host, port: Number(upstreamPort) }))
}
const settings = {
  namespace,
  wakeDeadlineMs: defaultTrafficSettings.wakeDeadlineMs,
  requireApiKeys: false,
  trustedProxies: '',
  bodyLimitBytes: defaultGatewaySettings.maxBodyBytes,
  heldLimitBytes: defaultGatewaySettings.maxHeldBytes,
  chatPageDirectory: '/nonexistent',
}
const catchUp = async () => {}
const gateway = { settings, loads, pool, models, keys, catchUp }
const serving = new ServingThreads({ count: 1, gateway, exposure: undefined, logPath, clock, log, metrics })
const { port } = await serving.listen('gateway', '127.0.0.1', 0)
console.log(port)
process.on('SIGTERM', () => process.exit(0))
