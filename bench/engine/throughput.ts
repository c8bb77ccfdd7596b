/**
 * Tokens per second of `sluice serve`, against two limits in the same run, on the same file. Without `--threads`, the
 * engine takes all cores for steps of several requests, while nobody else uses them:
 * node-llama-cpp's own loop without anything around it, and the engine itself with one request where eight come at
 * once.
 *
 *   node bench/engine/throughput.ts [MODEL.gguf] [--rounds 5] [--tokens 96] [--threads N]
 */
import { parseArgs } from 'node:util'
import { findTestModel, testModelMissing } from '../../src/engine/test-support/test-model.fixture.ts'
import { defaultThreads } from '../../src/engine/serve-options.ts'
import { startServedModel } from './served-model.ts'
import { openRawLoop } from './raw-loop.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    tokens: { type: 'string', default: '96' },
    threads: { type: 'string' },
  },
})
const file = positionals[0] ?? findTestModel()
if (file === undefined) throw new Error(testModelMissing)
const [rounds, tokens] = [Number(values.rounds), Number(values.tokens)]
const threads = values.threads === undefined ? undefined : Number(values.threads)
const atOnce = 8

const raw = await openRawLoop(file, threads ?? defaultThreads())
const served = await startServedModel(file, threads)
try {
  // The first round warms caches up and does not count.
  await raw.tokensPerSecond(tokens)
  await served.tokensPerSecond(1, tokens)
  const samples = { raw: [] as number[], one: [] as number[], eight: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    // Measured in turn, so that disturbances of the machine affect all of them.
    samples.raw.push(await raw.tokensPerSecond(tokens))
    samples.one.push(await served.tokensPerSecond(1, tokens))
    samples.eight.push(await served.tokensPerSecond(atOnce, tokens))
  }
  const overHttp = median(samples.one.map((value, round) => value / (samples.raw[round] ?? Number.NaN)))
  const together = median(samples.eight.map((value, round) => value / (samples.one[round] ?? Number.NaN)))
  console.log(`threads ${threads ?? 'chosen by the engine'}, ${rounds} rounds of ${tokens} tokens, medians in tokens/s`)
  console.log(`raw loop          ${median(samples.raw).toFixed(1)}`)
  console.log(`one request       ${median(samples.one).toFixed(1)}`)
  console.log(`eight at once     ${median(samples.eight).toFixed(1)}`)
  console.log(`HTTP / raw        ${overHttp.toFixed(3)}   (wanted: at least 0.95)`)
  console.log(`eight / one       ${together.toFixed(2)}    (wanted: at least 2)`)
  process.exitCode = overHttp >= 0.95 && together >= 2 ? 0 : 1
} finally {
  await served.stop()
  await raw.close()
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
}
