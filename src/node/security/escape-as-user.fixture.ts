import { EscapeStage } from './escape-stage.fixture.ts'

// Run as an ordinary user: prints as JSON the results of escape attempts in containers of that user's own Sluice.
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
