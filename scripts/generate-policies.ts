import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { policyFile } from '../src/resources/policy-file.ts'

// Writes the chart's admission policies. Run it after a change of them; a test fails when they are stale.
const folder = join(import.meta.dirname, '..', 'charts', 'sluice', 'policies')
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'policies.yaml'), policyFile())
console.log('charts/sluice/policies/policies.yaml')
