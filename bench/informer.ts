// An informer over many objects: how long until it has them, how much memory they take, and how fast changes reach its
// listeners.
//   node --expose-gc bench/informer.ts [--objects 10000]
import { parseArgs } from 'node:util'
import { ClusterApi } from '../src/apiserver/cluster-api.ts'
import { EmbeddedClient } from '../src/cluster/embedded-client.ts'
import { Informer } from '../src/cluster/informer.ts'
import { systemClock } from '../src/foundation/clock.ts'
import { silentLogger } from '../src/foundation/log.ts'
import { coreKinds } from '../src/resources/all-kinds.ts'
import { configMapKind } from '../src/resources/config-map.ts'
import { namespaceKind } from '../src/resources/namespace.ts'
import { MemoryStore } from '../src/store/memory-store.ts'
import { namespace } from './bench-objects.ts'

const { values } = parseArgs({ options: { objects: { type: 'string', default: '10000' } } })
const objects = Number(values.objects)
const changes = 2_000

const store = new MemoryStore({ watchBuffer: objects })
const client = new EmbeddedClient(new ClusterApi({ store, kinds: coreKinds, clock: systemClock }))
await client.create(namespaceKind, { metadata: { name: namespace } })
const create = (name: string) =>
  client.create(configMapKind, { metadata: { name, namespace }, data: { text: 'x'.repeat(800) } })
for (let index = 0; index < objects; index += 1) await create(`n${index}`)

const stop = new AbortController()
const before = heapBytes()
const startedAt = performance.now()
const informer = new Informer({ client, kind: configMapKind, clock: systemClock, log: silentLogger })
const running = informer.run(stop.signal)
await informer.whenSynced()
console.log(`${informer.list().length} objects in the cache after ${Math.round(performance.now() - startedAt)} ms`)
const added = (heapBytes() - before) / 1024 / 1024
console.log(
  `${added.toFixed(1)} MiB for them: the objects are the store's${'gc' in globalThis ? '' : ' (without --expose-gc a guess)'}`,
)

let seen = 0
const all = Promise.withResolvers<void>()
informer.onChange(() => {
  seen += 1
  if (seen === changes) all.resolve()
})
const changesAt = performance.now()
for (let index = 0; index < changes; index += 1) await create(`late-${index}`)
await all.promise
console.log(
  `${Math.round(changes / ((performance.now() - changesAt) / 1000))} writes a second, each in the cache and told of`,
)
stop.abort()
await running

function heapBytes(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
