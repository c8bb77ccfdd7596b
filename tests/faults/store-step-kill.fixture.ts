import { openSqliteStore } from '../../src/store/sqlite-store.ts'
import { StepGate, type ThreadStep, threadSteps } from '../../src/store/sqlite-file/step-gate.ts'

// Run by a test: writes, says what was acknowledged (`REVISION NAME`), and kills itself without warning when the thread
// with the file has come to a step of the next commit, with more writes on their way.
const [path = '', wanted = '', round = ''] = process.argv.slice(2)
const step = threadSteps.find((name): name is ThreadStep => name === wanted) ?? 'received'
const gate = new StepGate()
const store = await openSqliteStore({ path, gate })
const write = async (name: string) => {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value: round } }
  const { revision } = await store.create({ resource: 'configmaps', namespace: 'default', name }, object)
  process.stdout.write(`${revision} ${name}\n`)
}
await Promise.all(['a', 'b', 'c'].map((name) => write(`${name}${round}`)))
// Answered by the thread: it is done with those.
await store.read({ resource: 'configmaps' }, store.revision, 1)
// A store with nothing to do keeps no program running, and this one still waits for the thread to come to the step.
setInterval(() => {}, 1_000)
gate.arm(step)
void write(`d${round}`)
await gate.reached()
void write(`e${round}`)
process.kill(process.pid, 'SIGKILL')
