// From nothing to /readyz. The first start creates keys and a store, later ones find them.
//   node bench/start.ts [--times 5]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { missingControlPlane } from '../tests/kubernetes/real-control-plane.ts'
import { startKubernetes, startSluice } from './contestant.ts'
import { RatioTable } from './ratio-table.ts'

const { values } = parseArgs({ options: { times: { type: 'string', default: '5' } } })
const times = Number(values.times)

const first: number[] = []
const again: number[] = []
for (let round = 0; round < times; round += 1) {
  const data = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  for (const starts of [first, again]) {
    const running = await startSluice(data, true)
    starts.push(running.startMs)
    await running.stop()
  }
  rmSync(data, { recursive: true, force: true })
}
const theirs: number[] = []
const missing = missingControlPlane()
const theirRounds = missing === undefined ? Math.min(times, 3) : 0
for (let round = 0; round < theirRounds; round += 1) {
  const running = await startKubernetes()
  theirs.push(running.startMs)
  await running.stop()
}
if (missing !== undefined) console.log(`Without a real Kubernetes to compare with: ${missing}.\n`)

const table = new RatioTable('ms to /readyz, median (ours: at most 1,000)', 'lower')
for (const [what, ours] of [
  ['first start', first],
  ['later starts', again],
] as const) {
  const values = [{ name: 'sluice', value: median(ours) }]
  if (missing === undefined) values.push({ name: 'kubernetes', value: median(theirs) })
  table.row(what, values)
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((left, right) => left - right)[Math.floor(numbers.length / 2)] ?? 0
}
