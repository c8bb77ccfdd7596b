/**
 * Makes one program of all that `sluice serve` is (decision 0024), so that a model wakes sooner:
 *
 *     node scripts/build-engine.ts
 *
 * It is plain CommonJS: importing `node:http` as an ECMAScript module alone takes a tenth of a second of processor
 * time, since every export of it is looked at. Equal sources make an equal file.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { enginePlace, engineSources } from '../bin/built-engine.mjs'
import { libraryModules } from '../src/engine/library/import-library-module.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const library = join(dirname(fileURLToPath(import.meta.resolve('node-llama-cpp'))))

/** The parts of the library are inside, and become modules of the program. */
const withLibraryModules: Plugin = {
  name: 'library modules',
  load(id) {
    if (id !== join(root, 'src/engine/library/import-library-module.ts')) return undefined
    const entries = libraryModules.map((path) => {
      return `${JSON.stringify(path)}: () => import(${JSON.stringify(join(library, path))})`
    })
    return `const modules = { ${entries.join(', ')} }\nexport const importModule = (path) => modules[path]()`
  },
}

/** Modules find files by their own address, which is the one that they have as sources. */
const withOwnAddresses: Plugin = {
  name: 'own addresses',
  transform(code, id) {
    if (!id.startsWith(join(root, 'src/')) || !code.includes('import.meta.url')) return undefined
    const place = JSON.stringify(relative(dirname(enginePlace), id))
    return code.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`)
  },
}

/** Parts of prom-client that the engine does not use. They would load what Node needs for TLS and for clusters. */
const unusedModules = ['prom-client/lib/pushgateway.js', 'prom-client/lib/cluster.js']
const withoutUnused: Plugin = {
  name: 'without unused modules',
  load(id) {
    return unusedModules.some((path) => id.endsWith(`/node_modules/${path}`)) ? 'module.exports = undefined' : undefined
  },
}

/**
 * Modules of Node that nothing needs before the weights are being read, and some starts never. Loading all of them
 * takes a third as long as starting Node does.
 */
const lateModules = ['node:child_process', 'node:crypto', 'node:http', 'node:perf_hooks'] as const

/** Loads each of them when it is first used. */
function loadLate(code: string): string {
  return lateModules.reduce((before, module) => {
    const name = module.replace(':', '_')
    const loading = `let ${name} = require("${module}");\n`
    if (!before.includes(loading)) throw new Error(`the engine loads ${module} in another way than it did`)
    const body = before.replace(
      loading,
      `let ${name}_now;\nconst ${name} = () => (${name}_now ??= require("${module}"));\n`,
    )
    return body.replaceAll(new RegExp(`\\b${name}\\.`, 'g'), `${name}().`)
  }, code)
}

export async function buildEngine(): Promise<void> {
  const startedAt = new Date()
  const build = await rolldown({
    cwd: root,
    input: join(root, 'src/cli/serve/serve-program.ts'),
    platform: 'node',
    // For a model whose template it does not understand, the engine asks the whole library. The other one is a binary.
    external: ['node-llama-cpp', 'koffi'],
    plugins: [withLibraryModules, withOwnAddresses, withoutUnused],
  })
  const { output } = await build.generate({ format: 'cjs', codeSplitting: false, comments: false })
  await build.close()
  const [program, ...further] = output
  if (further.length > 0) throw new Error('the engine became more than one file')
  const modules = program.moduleIds.filter((id) => id.startsWith(join(root, 'src/'))).map((id) => relative(root, id))
  mkdirSync(dirname(enginePlace), { recursive: true })
  replaceFile(engineSources, JSON.stringify([...modules, 'package-lock.json'].toSorted()), startedAt)
  replaceFile(enginePlace, withDigest(loadLate(program.code)), startedAt)
}

const digestLine = /^\/\/ \w{64}\n/

/** By its first line, what was compiled of it is found (bin/run-engine.mjs). */
export function withDigest(program: string): string {
  const code = program.replace(digestLine, '')
  return `// ${createHash('sha256').update(code).digest('hex')}\n${code}`
}

/** Never half written for an engine that starts just now, and older than what changes while it is made. */
function replaceFile(path: string, text: string, time: Date): void {
  const fresh = `${path}.${process.pid}`
  writeFileSync(fresh, text)
  utimesSync(fresh, time, time)
  renameSync(fresh, path)
}

if (process.argv[1] === import.meta.filename) await buildEngine()
