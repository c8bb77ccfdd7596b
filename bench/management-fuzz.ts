import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startManagement } from './management-stage.ts'

// The management API under schemathesis, which makes requests of its OpenAPI document and looks for answers that are
// not in it. SCHEMATHESIS names the command (`pip install schemathesis`). Three times: with a key pair, without, and at
// a cluster that is there.

const command = process.env['SCHEMATHESIS'] ?? 'schemathesis'
const examples = process.env['EXAMPLES'] ?? '300'
const { server, url, authorization } = await startManagement(3)
const folder = mkdtempSync(join(tmpdir(), 'sluice-fuzz-'))
const config = join(folder, 'one-cluster.toml')
writeFileSync(config, '[parameters]\n"path.id" = "vks1"\n')

async function fuzz(name: string, before: readonly string[], ...more: readonly string[]): Promise<boolean> {
  console.log(`\n# ${name}`)
  const args = [...before, 'run', `${url}/openapi.json`, '--checks', 'all', '--max-examples', examples, ...more]
  const child = spawn(command, args, { stdio: 'inherit', cwd: folder })
  const [code] = await once(child, 'exit')
  return code === 0
}

const header = ['-H', `Authorization: ${authorization}`]
// Without a key pair everything that asks for one is refused: that is what is looked at, not that it is right.
const anonymous = ['--exclude-checks', 'positive_data_acceptance,missing_required_header,ignored_auth']
const outcomes = [
  await fuzz('with a key pair', [], ...header),
  await fuzz('without one', [], ...anonymous),
  await fuzz('at a cluster that is there', ['--config-file', config], ...header),
]
rmSync(folder, { recursive: true, force: true })
await server.stop(AbortSignal.timeout(2_000))
process.exit(outcomes.includes(false) ? 1 : 0)
