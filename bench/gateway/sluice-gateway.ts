// The gateway as `sluice up` composes it, alone in a process, over Models whose one Pod is the stub upstream.
//   node bench/gateway/sluice-gateway.ts UPSTREAM_PORT LOG_FILE [MODELS] [ADDRESSES] → prints its port
import { systemClock } from '../../src/foundation/clock.ts'
import { Metrics } from '../../src/foundation/metrics.ts'
import { Gateway } from '../../src/gateway/gateway.ts'
import { openLogFile } from '../../src/platform/log-file.ts'
import type { Model } from '../../src/resources/model.ts'
import type { Pod } from '../../src/resources/pod.ts'
import { FakeCache, fakeModel, fakePod } from '../../src/traffic/cluster-view.fixture.ts'
import { ClusterModelCatalog } from '../../src/traffic/model-catalog.ts'
import { PodPool } from '../../src/traffic/pod-pool.ts'
import { modelAddress, modelName } from './bench-models.ts'

const [upstreamPort, logFile = '/dev/null', modelCount = '1', addressCount = '1'] = process.argv.slice(2)
const pods = new FakeCache<Pod>()
const models = new FakeCache<Model>()
const log = openLogFile(logFile)
const metrics = new Metrics()
const common = { namespace: 'sluice', models, clock: systemClock, log, metrics }
const pool = new PodPool({ ...common, pods, settings: {} })
const catalog = new ClusterModelCatalog({ models, namespace: 'sluice' })
for (let index = 0; index < Number(modelCount); index += 1) {
  const name = modelName(index)
  models.put(fakeModel(name, 'Ready'))
  pods.put(
    fakePod(`${name}-0`, { model: name, host: modelAddress(index % Number(addressCount)), port: Number(upstreamPort) }),
  )
}
const gateway = new Gateway({ catalog, pool, log, clock: systemClock, metrics })
const { port } = await gateway.listen('127.0.0.1', 0)
console.log(port)
process.on('SIGTERM', () => process.exit(0))
