// The program, with what was compiled at an earlier start. Plain JavaScript, because the cache must be on before the first
// TypeScript comes: then Node need not load its compiler of types, which is a tenth of the memory of an idle `sluice up`.
import { constants, enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Where only this program's owner or this user can write: from the machine's temporary folder anybody's code could come.
const places = [
  fileURLToPath(new URL('../node_modules/.cache/sluice-compile', import.meta.url)),
  join(homedir(), '.cache/sluice/compile'),
]
places.find((place) => enableCompileCache(place).status !== constants.compileCacheStatus.FAILED)
await import('../src/cli/main.ts')
