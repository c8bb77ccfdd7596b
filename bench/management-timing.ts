// Whether the time of a refusal tells something about the key: sends wrong pairs of several kinds in turn, and prints
// how far apart their means are, and Welch's t between them. Hundreds of thousands of measurements inside the program
// can tell a nanosecond, which nobody can see from outside: what counts is its share of the time of a judgement.
//   node bench/management-timing.ts [--rounds 200000]
import { parseArgs } from 'node:util'
import { apiKeySpec, generateKeyPair } from '../src/management/key-pair.ts'
import { KeyRing } from '../src/management/key-ring.ts'
import { type ApiKey, apiKeySchema } from '../src/resources/api-key.ts'
import { HeldObjects } from '../src/resources/object-cache.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '200000' } } })
const rounds = Number(values.rounds)
const mostPart = 0.05
const keys = new HeldObjects<ApiKey>()
const pairs = Array.from({ length: 1_000 }, (_, index) => {
  const pair = generateKeyPair()
  const metadata = { name: `key-${index}` }
  const spec = apiKeySpec(pair, 'home')
  keys.put(apiKeySchema.parse({ apiVersion: 'sluice.dev/v1', kind: 'ApiKey', metadata, spec }))
  return pair
})
const ring = new KeyRing(keys, Date.now)
const [known = generateKeyPair()] = pairs
const stranger = generateKeyPair()
const kinds = [
  { name: 'unknown key', pair: { accessKey: stranger.accessKey, secretKey: stranger.secretKey } },
  { name: 'known key, wrong secret', pair: { accessKey: known.accessKey, secretKey: stranger.secretKey } },
  {
    name: 'known key, last letter wrong',
    pair: { accessKey: known.accessKey, secretKey: Buffer.from(`${known.secretKey.slice(0, -1)}!`).toString('latin1') },
  },
].map((kind) => ({ ...kind, times: [] as number[] }))

for (let round = 0; round < rounds; round += 1) {
  // Which comes first is drawn, so that none of them always follows the same one.
  for (const kind of kinds.toSorted(() => Math.random() - 0.5)) {
    const startedAt = process.hrtime.bigint()
    ring.judge(kind.pair)
    const nanoseconds = Number(process.hrtime.bigint() - startedAt)
    if (round > rounds / 10) kind.times.push(nanoseconds)
  }
}

/** Without the slowest tenth: what the machine did meanwhile. */
function statistics(times: readonly number[]) {
  const kept = times.toSorted((one, other) => one - other).slice(0, Math.floor(times.length * 0.9))
  const mean = kept.reduce((sum, time) => sum + time, 0) / kept.length
  const variance = kept.reduce((sum, time) => sum + (time - mean) ** 2, 0) / (kept.length - 1)
  return { mean, variance, count: kept.length }
}

const measured = kinds.map(({ name, times }) => ({ name, ...statistics(times) }))
let isFlat = true
for (const [index, one] of measured.entries()) {
  console.log(`${one.name.padEnd(32)}${one.mean.toFixed(0).padStart(8)} ns`)
  for (const other of measured.slice(index + 1)) {
    const t = Math.abs(one.mean - other.mean) / Math.sqrt(one.variance / one.count + other.variance / other.count)
    const part = Math.abs(one.mean - other.mean) / one.mean
    isFlat &&= part < mostPart
    console.log(`  against ${other.name}: ${(100 * part).toFixed(1)} % apart, t = ${t.toFixed(2)}`)
  }
}
process.exit(isFlat ? 0 : 1)
