// Replays days of requests in seconds through the autoscaler's own `decide` and through the rules of others, and
// compares what they cost (Pod-hours) with what they spare (requests that find no Pod ready).
//   node bench/autoscaler/replay.ts [--seed 1] [--cold-start 30] [--idle-window 600] [--delay 30]
import { parseArgs } from 'node:util'
import { policies } from './policies.ts'
import { clairvoyant, type Outcome, simulate } from './simulate.ts'
import { makeTraces, type Trace } from './traces.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    'cold-start': { type: 'string', default: '30' },
    'idle-window': { type: 'string', default: '600' },
    delay: { type: 'string', default: '30' },
  },
})
const coldStartSeconds = Number(values['cold-start'])
const settings = { idleWindowSeconds: Number(values['idle-window']), scaleDownDelaySeconds: Number(values.delay) }

const columns = ['rule', 'Pod-hours', 'bound', 'cold requests', 'wakes', 'waited', 'crowded']
const widths = [18, 10, 8, 18, 7, 11, 11]
console.log(`A Pod is ready ${coldStartSeconds} s after it was asked for; seed ${values.seed}.\n`)
for (const [name, traces] of Map.groupBy(makeTraces(Number(values.seed)), (trace) => trace.name)) {
  const requests = traces.reduce((sum, { arrivals }) => sum + arrivals.length, 0)
  const days = (traces[0]?.seconds ?? 0) / 86_400
  console.log(
    `${name}: ${requests} requests, ${traces.length} ${traces.length === 1 ? 'model' : 'models'}, ${days} days`,
  )
  console.log(row(columns))
  const bound = total(traces.map((trace) => clairvoyant(trace, coldStartSeconds)))
  for (const make of policies) {
    const name = make(firstOf(traces), settings).name
    print(name, total(traces.map((trace) => simulate(trace, make(trace, settings), coldStartSeconds))), bound)
  }
  print('clairvoyant', bound, bound)
  console.log()
}

function firstOf(traces: readonly Trace[]): Trace {
  const [first] = traces
  if (!first) throw new Error('there is no trace')
  return first
}

function print(name: string, outcome: Outcome, bound: Outcome): void {
  const { podSeconds, requests, coldRequests, coldStarts, waitedSeconds, crowdedSeconds } = outcome
  console.log(
    row([
      name,
      (podSeconds / 3_600).toFixed(1),
      `${(podSeconds / bound.podSeconds).toFixed(2)}×`,
      `${coldRequests} (${((100 * coldRequests) / requests).toFixed(1)} %)`,
      String(coldStarts),
      `${(waitedSeconds / 60).toFixed(0)} min`,
      `${(crowdedSeconds / 60).toFixed(0)} min`,
    ]),
  )
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
    .join('')
}

function total(outcomes: readonly Outcome[]): Outcome {
  const sum = (pick: (outcome: Outcome) => number) => outcomes.reduce((whole, outcome) => whole + pick(outcome), 0)
  return {
    podSeconds: sum((one) => one.podSeconds),
    requests: sum((one) => one.requests),
    coldRequests: sum((one) => one.coldRequests),
    coldStarts: sum((one) => one.coldStarts),
    waitedSeconds: sum((one) => one.waitedSeconds),
    crowdedSeconds: sum((one) => one.crowdedSeconds),
  }
}
