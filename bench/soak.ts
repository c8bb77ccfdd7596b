// A day's use in an hour: chats with an awake model, wakes of a sleeping one, kubectl-like reads and writes, Pods and
// Jobs that come and go. Prints memory and file sizes while it runs, and at the end the figures of each quarter and the
// ratio of the last quarter to the second: 1 means no growth. Whatever has a plateau must have reached it before: the
// history has 10,000 entries, and Events live as long as --event-ttl says, so the quarters begin after --warm-up.
//   node bench/soak.ts [--minutes 60] [--warm-up 0] [--event-ttl 3600] [--heap-snapshots FOLDER]
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connectKubernetes } from '../src/cluster/kubernetes-client.ts'
import { tinyPlainTemplate, writeTinyModel } from '../src/engine/models/tiny-model.ts'
import { eventKind } from '../src/resources/event.ts'
import { podKind } from '../src/resources/pod.ts'
import { SluiceProcess, killIfThere, podProcesses, processesMentioning } from '../tests/support/sluice-process.ts'
import { type Figures, heapFigures, kernelFigures, writeHeapSnapshots } from './soak/process-figures.ts'
import { Quarters } from './soak/quarters.ts'
import { SoakLoad } from './soak/soak-load.ts'
import { storeFigures } from './soak/store-figures.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    'warm-up': { type: 'string', default: '0' },
    'event-ttl': { type: 'string', default: '3600' },
    'heap-snapshots': { type: 'string' },
  },
})
const durationMs = Number(values.minutes) * 60_000
const warmUpMs = Number(values['warm-up']) * 60_000
const sampleMs = Math.min(15_000, durationMs / 20)
const quarterMs = durationMs / 4
const snapshots = values['heap-snapshots']
if (snapshots) mkdirSync(snapshots, { recursive: true })

const data = mkdtempSync(join(tmpdir(), 'sluice-soak-'))
const quarters = new Quarters(durationMs)
const folder = join(data, 'volumes/userdata/models/tiny')
mkdirSync(folder, { recursive: true })
await writeTinyModel(join(folder, 'model.gguf'), { chatTemplate: tinyPlainTemplate })
const flags = ['--no-demo-model', '--idle-window', '10', '--event-ttl', values['event-ttl']]
const sluice = await SluiceProcess.start(data, flags, { NODE_OPTIONS: '--inspect=127.0.0.1:0' })
try {
  const { pid, gateway } = sluice.endpoints
  const client = await connectKubernetes(sluice.kubeconfig)
  const load = new SoakLoad(client, gateway ?? '')
  await load.start()
  const begun = performance.now() + warmUpMs
  const ends = [1, 2, 3, 4].map((quarter) => begun + quarter * quarterMs)
  // A closer look disturbs the process, so there is only one at the end of each quarter.
  for (const end of ends) {
    while (performance.now() < end - sampleMs) {
      await sleep(sampleMs)
      const figures = {
        ...kernelFigures(pid, data),
        Events: (await client.list(eventKind)).items.length,
        Pods: (await client.list(podKind)).items.length,
      }
      tell(performance.now() - begun, figures, load)
    }
    const heaps = await heapFigures(sluice.inspectorUrl)
    const { 'resident MiB': tidyMiB = 0 } = kernelFigures(pid, data)
    const looked = { 'resident when collected MiB': tidyMiB, ...heaps, ...storeFigures(data) }
    quarters.add(end - begun - 1, looked)
    console.log(
      JSON.stringify(looked, (_key, value: unknown) =>
        typeof value === 'number' ? Math.round(value * 10) / 10 : value,
      ),
    )
    if (snapshots && ends.indexOf(end) % 2 === 1) {
      await writeHeapSnapshots(sluice.inspectorUrl, resolve(snapshots), `quarter-${ends.indexOf(end) + 1}`)
    }
  }
  await load.stop()
  client.close()
  console.log(`\n${quarters.table()}\n${JSON.stringify(load.counts)}`)
  for (const [what, times] of load.failures) console.log(`${times} × ${what}`)
} finally {
  sluice.destroy()
  for (const pid of new Set([...processesMentioning(data), ...podProcesses(data)])) killIfThere(pid)
  rmSync(data, { recursive: true, force: true })
}

function tell(atMs: number, figures: Figures, { counts }: SoakLoad): void {
  quarters.add(atMs, figures)
  const shown = Object.entries(figures).map(([name, value]) => `${name.trim()} ${Number(value.toFixed(1))}`)
  console.log(`${Math.round(atMs / 1000)} s: ${shown.join(', ')}, ${JSON.stringify(counts)}`)
}
