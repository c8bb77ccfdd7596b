import { openSqliteStore } from '../../src/store/sqlite-store.ts'
import { StepGate, type ThreadStep, threadSteps } from '../../src/store/sqlite-file/step-gate.ts'

// A program for a test. It writes, prints what was acknowledged (`REVISION NAME`), and kills itself with SIGKILL when
// the thread with the file reaches a step of the next commit, while more writes are waiting.
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
// This read is answered by the thread, so it is done with the writes before it.
await store.read({ resource: 'configmaps' }, store.revision, 1)
// An idle store does not keep a program running, but this one must still wait for the thread to reach the step.
setInterval(() => {}, 1_000)
gate.arm(step)
void write(`d${round}`)
await gate.reached()
void write(`e${round}`)
process.kill(process.pid, 'SIGKILL')
