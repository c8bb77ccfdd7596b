import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type IsolationChoice, detectIsolation } from './detect-isolation.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-try-'))
const detected = await detectIsolation(folder, 'detect')
rmSync(folder, { recursive: true, force: true })

/** Both isolation modes, and whether this machine permits them; the name of a skipped test tells the reason. */
export const isolationModes: readonly { mode: IsolationChoice; permitted: boolean; name: string }[] = [
  { mode: 'paths', permitted: true, name: 'with replaced paths' },
  {
    mode: 'namespaces',
    permitted: detected.mode === 'namespaces',
    name: detected.mode === 'namespaces' ? 'in namespaces' : `in namespaces (not here: ${detected.reason})`,
  },
]
