import { EscapeStage } from './escape-stage.fixture.ts'

// Run by an ordinary user: says, as JSON, what came of the attempts of containers that its own Sluice runs.
const stage = new EscapeStage()
try {
  await stage.open()
  const root = await stage.inContainer({})
  const other = await stage.inContainer({ runAsUser: 1000, runAsGroup: 1000, allowPrivilegeEscalation: false })
  const exec = await stage.byExec({})
  process.stdout.write(JSON.stringify({ root: [...root], other: [...other], exec: [...exec] }))
} finally {
  await stage.close()
}
