// Applies random valid manifests to a whole Sluice and kills it with SIGKILL in between, for as long as is asked for:
//   node bench/fuzz.ts [--minutes 60] [--seed 1]
// Prints how long it ran without a problem, and the largest and slowest figures on the way. Exits with 1 at the first
// problem.
import { parseArgs } from 'node:util'
import { ManifestFuzzer } from '../tests/support/fuzz/manifest-fuzzer.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
})
const fuzzer = new ManifestFuzzer(Number(values.seed))
try {
  const report = await fuzzer.run(Number(values.minutes) * 60_000, (text) => console.log(text))
  console.log(JSON.stringify(report, null, 2))
  if (report.problems.length > 0) console.log(fuzzer.lastLog)
  process.exitCode = report.problems.length === 0 ? 0 : 1
} finally {
  fuzzer.destroy()
}
