// Where the program is that scripts/build-engine.ts makes of `sluice serve`.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = 'bin/dist/engine.cjs'
const sources = 'bin/dist/engine-sources.json'
export const enginePlace = join(root, program)
/** The files that it was made of, below the root. Empty where the sources are not given along. */
export const engineSources = join(root, sources)

/** The engine's program; undefined where there is none, or where one of its sources is newer. */
export function builtEngine(folder = root) {
  try {
    const changedAt = (path) => statSync(join(folder, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
    const madeAt = changedAt(program)
    const madeOf = JSON.parse(readFileSync(join(folder, sources), 'utf8'))
    return madeAt === 0 || madeOf.some((path) => changedAt(path) > madeAt) ? undefined : join(folder, program)
  } catch {
    return undefined
  }
}
