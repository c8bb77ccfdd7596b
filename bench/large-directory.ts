// A start on a data directory that was flooded with Events: it must be ready in 5 s, in 400 MiB.
//   node bench/large-directory.ts [--events 200000] [--pods 5000]
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { makeLargeDirectory } from '../tests/support/large-directory.ts'
import { startSluice } from './contestant.ts'
import { mebibytes } from './process-use.ts'
import { RatioTable } from './ratio-table.ts'

const { values } = parseArgs({
  options: { events: { type: 'string', default: '200000' }, pods: { type: 'string', default: '5000' } },
})
const size = { events: Number(values.events), pods: Number(values.pods) }
const limits = { readyMs: 5_000, residentBytes: 400 * 1024 * 1024 }
/** Long enough for the work that follows a start. */
const settleMs = 15_000

const data = mkdtempSync(join(tmpdir(), 'sluice-bench-large-'))
try {
  makeLargeDirectory(data, { ...size, at: new Date() })
  console.log(`${size.events} Events and ${size.pods} Pods: ${mebibytes(statSync(join(data, 'sluice.db')).size)}`)
  const table = new RatioTable('ms to /readyz', 'lower')
  const memory = new RatioTable('MiB resident', 'lower')
  for (const what of ['first start', 'next start']) {
    const running = await startSluice(data, true)
    const resident = [running.resident()]
    table.row(what, [
      { name: 'sluice', value: running.startMs },
      { name: 'limit', value: limits.readyMs },
    ])
    const note = `${running.cpuSeconds().toFixed(1)} s of processor time`
    await delay(settleMs)
    resident.push(running.resident())
    memory.row(
      what,
      [
        { name: 'sluice', value: Math.max(...resident) / 1024 / 1024 },
        { name: 'limit', value: limits.residentBytes / 1024 / 1024 },
      ],
      note,
    )
    await running.stop()
  }
} finally {
  rmSync(data, { recursive: true, force: true })
}
