/**
 * What an engine holds after a day of ordinary requests, against what it held when it was fresh: `--requests 3000` of
 * all lengths, one to eight at once, some left in the middle, some with a schema, with pauses in which nobody asks.
 *
 *   node bench/engine/use.ts [MODEL.gguf] [--requests 3000] [--seed 1]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { findTestModel, testModelMissing } from '../../src/engine/test-support/test-model.fixture.ts'
import { defaultThreads } from '../../src/engine/serve-options.ts'
import { mebibytes, residentBytes } from '../process-use.ts'
import { startServedModel } from './served-model.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { requests: { type: 'string', default: '3000' }, seed: { type: 'string', default: '1' } },
})
const file = positionals[0] ?? findTestModel()
if (file === undefined) throw new Error(testModelMissing)
const requests = Number(values.requests)
/** The engine gives the memory of conversations back after a minute in which nobody asks. */
const restMs = 65_000
const rests = 4
const most = 1.5

/** Numbers from 0 to 1, the same for the same seed. */
let state = Number(values.seed)
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}
const upTo = (limit: number) => Math.floor(random() * limit)

const words = 'the water of a sluice flows when somebody asks for it and rests when nobody does'.split(' ')
const text = (length: number) => Array.from({ length }, () => words[upTo(words.length)]).join(' ')
const schema = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 20 }, depth: { type: 'integer', minimum: 0, maximum: 99 } },
  required: ['name', 'depth'],
  additionalProperties: false,
}

function question(): object {
  const earlier = Array.from({ length: upTo(4) * 2 }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: text(1 + upTo(60)),
  }))
  // Most are short, and one of twenty is long.
  const length = random() < 0.05 ? 400 + upTo(600) : 1 + upTo(80)
  return {
    model: 'bench',
    messages: [...earlier, { role: 'user', content: text(length) }],
    max_tokens: 1 + upTo(64),
    stream: random() < 0.7,
    ...(random() < 0.05 && {
      response_format: { type: 'json_schema', json_schema: { name: 'pool', schema, strict: true } },
    }),
  }
}

const counts = { answered: 0, left: 0, refused: 0 }
async function ask(url: string): Promise<void> {
  const leavesAfterMs = random() < 0.1 ? upTo(500) : undefined
  const signal = AbortSignal.timeout(leavesAfterMs ?? 120_000)
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(question()),
      signal,
    })
    await response.text()
    counts[response.ok ? 'answered' : 'refused'] += 1
  } catch (error) {
    if (leavesAfterMs === undefined) throw error
    counts.left += 1
  }
}

async function askMany(url: string, count: number, atOnce: number): Promise<void> {
  let left = Math.ceil(count)
  const askOn = async () => {
    while (left-- > 0) await ask(url)
  }
  await Promise.all(Array.from({ length: atOnce }, askOn))
}

const served = await startServedModel(file, defaultThreads())
try {
  await ask(served.url)
  await sleep(restMs)
  const fresh = residentBytes(served.pid)
  console.log('fresh, at rest'.padEnd(28), mebibytes(fresh))
  let worst = 0
  for (let part = 1; part <= rests; part += 1) {
    for (const atOnce of [1, 2, 4, 8]) await askMany(served.url, requests / rests / 4, atOnce)
    const used = residentBytes(served.pid)
    await sleep(restMs)
    worst = residentBytes(served.pid)
    const { answered, left: gone, refused } = counts
    console.log(
      `after ${answered + gone + refused} requests`.padEnd(28),
      `${mebibytes(used)}, at rest ${mebibytes(worst)} (${(worst / fresh).toFixed(2)}×, at most ${most}×)`,
    )
  }
  console.log(`${counts.answered} answered, ${counts.left} left by their clients, ${counts.refused} refused`)
  if (worst > most * fresh || counts.refused > 0) process.exitCode = 1
} finally {
  await served.stop()
}
