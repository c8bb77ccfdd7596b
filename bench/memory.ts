// The resident memory: idle, with 10,000 objects, and after these were listed.
//   node bench/memory.ts [--objects 10000]
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { configMaps, namespace } from './bench-objects.ts'
import { type Contestant, startContestants } from './contestant.ts'
import { HttpClient } from './http-client.ts'
import { perSecond } from './load.ts'
import { RatioTable } from './ratio-table.ts'

const { values } = parseArgs({ options: { objects: { type: 'string', default: '10000' } } })
const objects = Number(values.objects)
/** V8 returns the unused memory of an idle heap eight seconds after its last collection. */
const restMs = 12_000

const contestants = await startContestants()
try {
  const table = new RatioTable('MiB resident (ours: at most 150 idle)', 'lower')
  const measure = async (what: string, act?: (contestant: Contestant) => Promise<unknown>) => {
    for (const contestant of contestants) await act?.(contestant)
    await delay(restMs)
    table.row(
      what,
      contestants.map((contestant) => ({ name: contestant.name, value: contestant.resident() / 1024 / 1024 })),
    )
  }
  await measure('idle')
  await measure(`with ${objects} objects of 0.9 kB`, fill)
  await measure('after 20 lists of them', listAll)
} finally {
  for (const contestant of contestants) await contestant.stop()
}

async function fill({ target }: Contestant): Promise<void> {
  const client = await HttpClient.open(target)
  await client.expect('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  client.close()
  await perSecond(target, 16, objects, (connection, index) =>
    connection.expect('POST', configMaps.path, configMaps.make(`n${index}`)),
  )
}

async function listAll({ target }: Contestant): Promise<void> {
  await perSecond(target, 4, 20, (client) => client.expect('GET', configMaps.path))
}
