// What Sluice adds to a wake on a Kubernetes with a real node, beside the embedded cluster and, where its manager is
// given, beside KubeAI on the same node, all in one run. The engine is ready as soon as it runs.
//   KUBEBUILDER_ASSETS=… node bench/kubernetes/wake.ts [--times 15] [--kubeai MANAGER --kubeai-crd FILE]
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { missingNodeStage } from '../../tests/kubernetes/node/node-stage.ts'
import { RatioTable } from '../ratio-table.ts'
import { kubeAi } from './kubeai-contestant.ts'
import { PodTimes } from './pod-times.ts'
import { type WakeContestant, embedded, sluiceOn, startNode } from './wake-contestants.ts'

const { values } = parseArgs({
  options: { times: { type: 'string', default: '15' }, kubeai: { type: 'string' }, 'kubeai-crd': { type: 'string' } },
})
const rounds = Number(values.times)
const warmUp = 2
const limits = { created: 30, firstByte: 20 }
const answer = z.object({ readyAt: z.number() })

interface Measured {
  readonly name: string
  readonly created: number[]
  readonly readyInApi: number[]
  readonly servable: number[]
}

async function measured(contestant: WakeContestant): Promise<Measured> {
  const { name, client, namespace, label } = contestant
  const times = new PodTimes(label)
  await times.start(client, namespace)
  const taken: Measured = { name, created: [], readyInApi: [], servable: [] }
  try {
    for (let round = 0; round < rounds + warmUp; round += 1) {
      const model = `wake-${round}`
      await contestant.prepare(model)
      const { askedAt, firstByteAt, body } = await contestant.ask(model)
      const readyAt = await times.readyAt(model)
      if (round >= warmUp) {
        taken.created.push(times.createdAt(model) - askedAt)
        taken.readyInApi.push(firstByteAt - readyAt)
        const engineReadyAt = answer.parse(JSON.parse(body)).readyAt
        taken.servable.push(firstByteAt - Math.max(engineReadyAt, times.addressedAt(model)))
      }
      await contestant.remove(model)
    }
  } finally {
    times.stop()
    await contestant.stop()
  }
  return taken
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]
}

const missing = missingNodeStage()
if (missing !== undefined) throw new Error(missing)
const stage = await startNode()
const all: Measured[] = []
try {
  all.push(await measured(await sluiceOn(stage)))
  if (values.kubeai !== undefined)
    all.push(await measured(await kubeAi(stage, values.kubeai, values['kubeai-crd'] ?? '')))
} finally {
  await stage.destroy()
}
all.push(await measured(await embedded()))
console.log(`\n${rounds} wakes of a model, p50`)
const table = new RatioTable('milliseconds', 'lower')
const row = (what: string, which: 'created' | 'readyInApi' | 'servable', note: string) =>
  table.row(
    what,
    all.map(({ name, ...taken }) => ({ name, value: median(taken[which]) })),
    note,
  )
row('request → Pod created', 'created', `limit ${limits.created}`)
row('Ready in the API → first byte', 'readyInApi', `limit ${limits.firstByte}; below 0: served before that`)
row('ready, and its address in the API → first byte', 'servable', '')
