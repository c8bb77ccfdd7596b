import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

export const root = fileURLToPath(new URL('../..', import.meta.url))

const names = z.record(z.string(), z.string()).default({})
const manifest = z.looseObject({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  engines: names,
  dependencies: names,
  bin: names,
})

export const program = manifest.parse(JSON.parse(readFileSync(`${root}/package.json`, 'utf8')))

/** The time of everything in artefacts, in seconds, so that they are equal whenever they are made. */
export const artefactTime = Number(process.env['SOURCE_DATE_EPOCH'] ?? Date.UTC(2026, 0, 1) / 1000)
