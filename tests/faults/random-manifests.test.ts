import { describe, expect, it, onTestFinished } from 'vitest'
import { ManifestFuzzer } from '../support/fuzz/manifest-fuzzer.ts'

const runMs = 60_000
/** The limit for an hour of the same (`node bench/fuzz.ts`), too. */
const mostMiB = 600
/** Far above what a busy machine does to a program that works well. */
const longestStallMs = 5_000

describe('a whole Sluice', () => {
  it('comes to the right state whatever is applied, updated, deleted and killed', { timeout: 400_000 }, async () => {
    const fuzzer = new ManifestFuzzer(Number(process.env['SLUICE_FUZZ_SEED'] ?? 14))
    onTestFinished(() => fuzzer.destroy())
    const report = await fuzzer.run(runMs)
    // The seed decides the steps: it is needed to look into a failure.
    console.log(JSON.stringify(report))
    if (report.problems.length > 0) console.log(fuzzer.lastLog)
    expect(report.problems).toEqual([])
    expect(report.checkpoints).toBeGreaterThan(0)
    expect(report.largestResidentMiB).toBeLessThan(mostMiB)
    expect(report.longestStallMs).toBeLessThan(longestStallMs)
  })
})
