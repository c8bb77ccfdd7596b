// Starts the program with the compile cache of earlier starts. Plain JavaScript, since the cache must be on before the
// first TypeScript file is loaded: then Node need not load its type stripper, which takes a tenth of the memory of an
// idle `sluice up`.
import { constants, enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtEngine } from './built-engine.mjs'

// Folders that only this program's owner or this user can write to: in the machine's temporary folder, anybody could
// plant code.
const places = [
  fileURLToPath(new URL('../node_modules/.cache/sluice-compile', import.meta.url)),
  join(homedir(), '.cache/sluice/compile'),
]
places.find((place) => enableCompileCache(place).status !== constants.compileCacheStatus.FAILED)
// Models are waited for while they wake, so their engine is built ahead: it starts in half the time.
const engine = process.argv[2] === 'serve' ? builtEngine() : undefined
if (engine === undefined) await import('../src/cli/main.ts')
else (await import('./run-engine.mjs')).runEngine(engine)
