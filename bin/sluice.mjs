// The program, with what was compiled at an earlier start. Plain JavaScript, because the cache must be on before the first
// TypeScript comes: then Node need not load its compiler of types, which is a tenth of the memory of an idle `sluice up`.
import { enableCompileCache } from 'node:module'

enableCompileCache()
await import('../src/cli/main.ts')
