// `npm run gpu-binaries -- cuda|vulkan|remove`: downloads llama.cpp's GPU builds of the pinned version, or removes them
// again. `--from FOLDER` takes the archives from a folder instead, named as `npm pack` names them, for a machine
// without a network. They are not part of the default install because they take 600 MB.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { gpuFolder, gpuPackages, linkGpuPackages, pinnedVersion, removeGpuPackages } from './gpu-packages.mjs'

try {
  const { values, positionals } = parseArgs({ options: { from: { type: 'string' } }, allowPositionals: true })
  const [choice] = positionals
  if (choice === 'remove') {
    removeGpuPackages()
    console.log('The GPU builds are gone; sluice serve computes on the CPU.')
  } else {
    fetchBuilds(choice, values.from)
  }
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}

function fetchBuilds(backend, folder) {
  const packages = Object.hasOwn(gpuPackages, backend ?? '') ? gpuPackages[backend] : undefined
  if (packages === undefined) throw new Error('Usage: npm run gpu-binaries -- cuda|vulkan|remove [--from FOLDER]')
  if (process.arch !== 'x64') throw new Error(`There are no GPU builds for ${process.platform}-${process.arch}.`)
  const version = pinnedVersion()
  for (const name of packages) {
    const target = join(gpuFolder, `${name}@${version}`)
    if (!existsSync(target)) fetchPackage(name, version, target, folder)
    for (const old of readdirSync(gpuFolder)) {
      if (old.startsWith(`${name}@`) && old !== `${name}@${version}`) rmSync(join(gpuFolder, old), { recursive: true })
    }
  }
  linkGpuPackages()
  console.log(`llama.cpp's ${backend} build ${version} is in place: a model whose Pod has a real card computes on it.`)
}

/** Downloads one package. npm verifies it, and a half-downloaded build never gets its final name. */
function fetchPackage(name, version, target, folder) {
  mkdirSync(gpuFolder, { recursive: true })
  const work = mkdtempSync(join(gpuFolder, '.fetch-'))
  try {
    const archive = `node-llama-cpp-${name}-${version}.tgz`
    if (folder === undefined) {
      console.log(`Fetching @node-llama-cpp/${name}@${version}…`)
      run('npm', ['pack', `@node-llama-cpp/${name}@${version}`, '--pack-destination', work, '--loglevel=error'])
    }
    run('tar', ['-xzf', join(folder ?? work, archive), '-C', work])
    renameSync(join(work, 'package'), target)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function run(program, args) {
  const { error, status, signal } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (error) throw error
  if (status !== 0) throw new Error(`${program} ${args[0]} failed with ${status ?? signal}`)
}
