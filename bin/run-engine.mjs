// Runs the engine's program with what V8 compiled of it at an earlier start. Node's own compile cache has only what is
// compiled before a program runs: every function that a first answer calls would be compiled at each start.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire, getCompileCacheDir } from 'node:module'
import { dirname, join } from 'node:path'
import vm from 'node:vm'

/** By then an engine has usually answered. Later V8 forgets what was only needed for the start. */
const answeredMs = 10_000

export function runEngine(engine) {
  const code = readFileSync(engine, 'utf8')
  const place = compiledPlace(code)
  const cachedData = place && readIfThere(place)
  const script = new vm.Script(`(function (exports, require, module, __filename, __dirname) {${code}\n})`, {
    filename: engine,
    cachedData,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  if (place && (cachedData === undefined || script.cachedDataRejected)) keepCompiled(script, place)
  const module = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(engine), module, engine, dirname(engine))
}

/**
 * Beside Node's own compiled code, in a folder for this Node, processor and user that nobody else can write to. V8 does
 * not look whether it was compiled of the same code: its name says that.
 */
function compiledPlace(code) {
  const [, digest] = /^\/\/ (\w{64})\n/.exec(code) ?? []
  const folder = getCompileCacheDir()
  return digest && folder && join(folder, `engine-${digest}`)
}

function readIfThere(path) {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

function keepCompiled(script, place) {
  let kept = process.argv.includes('--help')
  const keep = () => {
    if (kept) return
    kept = true
    const draft = `${place}.${process.pid}`
    try {
      writeFileSync(draft, script.createCachedData(), { flush: true })
      renameSync(draft, place)
    } catch {
      // In a Pod, the folder can only be read.
      rmSync(draft, { force: true })
    }
  }
  setTimeout(keep, answeredMs).unref()
  process.once('exit', (code) => code === 0 && keep())
}
