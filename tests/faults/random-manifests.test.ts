import { describe, expect, it, onTestFinished } from 'vitest'
import { ManifestFuzzer } from '../support/fuzz/manifest-fuzzer.ts'

const runMs = 60_000
/** An hour of the same ends below this, too: `node bench/fuzz.ts`. */
const mostMiB = 600
/** Far from what a person notices, and far above what a busy machine does to a program that is well. */
const longestStallMs = 5_000

describe('a whole Sluice', () => {
  it('comes to the right state whatever is applied, updated, deleted and killed', { timeout: 400_000 }, async () => {
    const fuzzer = new ManifestFuzzer(Number(process.env['SLUICE_FUZZ_SEED'] ?? 14))
    onTestFinished(() => fuzzer.destroy())
    const report = await fuzzer.run(runMs)
    // The seed decides what is done: it is what somebody needs who looks into a failure.
    console.log(JSON.stringify(report))
    if (report.problems.length > 0) console.log(fuzzer.lastLog)
    expect(report.problems).toEqual([])
    expect(report.checkpoints).toBeGreaterThan(0)
    expect(report.largestResidentMiB).toBeLessThan(mostMiB)
    expect(report.longestStallMs).toBeLessThan(longestStallMs)
  })
})
