// llama.cpp's GPU builds: kept beside node_modules, which every install makes anew, and linked into it.
import { cpSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const modules = join(root, 'node_modules')
const linked = join(modules, '@node-llama-cpp')
export const gpuFolder = join(root, '.gpu-binaries')

/** The npm packages of each backend on x64; there are none for other machines. */
export const gpuPackages = { cuda: ['linux-x64-cuda', 'linux-x64-cuda-ext'], vulkan: ['linux-x64-vulkan'] }

/**
 * Made here of the two CUDA packages: node-llama-cpp takes the second one's library only where the first cannot be
 * loaded.
 */
const fallbackName = 'linux-x64-cuda-fallback'

/** Of node-llama-cpp as it is installed: a build of another version is not loaded. */
export function pinnedVersion() {
  return JSON.parse(readFileSync(join(modules, 'node-llama-cpp/package.json'), 'utf8')).version
}

/** Puts what was fetched where node-llama-cpp looks for it; returns the names of builds that are of another version. */
export function linkGpuPackages() {
  if (!existsSync(gpuFolder)) return []
  const version = pinnedVersion()
  composeFallback(version)
  const outdated = []
  for (const entry of readdirSync(gpuFolder)) {
    const [name, itsVersion] = entry.split('@')
    if (itsVersion === version) link(name, entry)
    else outdated.push(entry)
  }
  return outdated
}

/** Takes every build out again. */
export function removeGpuPackages() {
  for (const name of [...Object.values(gpuPackages).flat(), fallbackName]) {
    const path = join(linked, name)
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(path)
  }
  rmSync(gpuFolder, { recursive: true, force: true })
}

/** The first package as it is, with the second one's library, for older drivers, in the place of its own. */
function composeFallback(version) {
  for (const entry of readdirSync(gpuFolder)) {
    if (entry.startsWith(`${fallbackName}@`)) rmSync(join(gpuFolder, entry), { recursive: true })
  }
  const [main, extension] = gpuPackages.cuda.map((name) => join(gpuFolder, `${name}@${version}`))
  const library = 'libggml-cuda.so'
  const older = join(extension, 'bins/linux-x64-cuda/fallback', library)
  if (!existsSync(main) || !existsSync(older)) return
  const target = join(gpuFolder, `${fallbackName}@${version}`)
  // Node follows links to what it imports, so what says where the libraries are must be a file of its own.
  cpSync(main, target, { recursive: true, filter: (path) => path !== join(main, 'bins') })
  const libraries = join(target, 'bins/linux-x64-cuda')
  mkdirSync(libraries, { recursive: true })
  for (const name of readdirSync(join(main, 'bins/linux-x64-cuda'))) {
    const original = name === library ? older : join(main, 'bins/linux-x64-cuda', name)
    symlinkSync(relative(libraries, original), join(libraries, name))
  }
}

function link(name, entry) {
  mkdirSync(linked, { recursive: true })
  rmSync(join(linked, name), { recursive: true, force: true })
  symlinkSync(relative(linked, join(gpuFolder, entry)), join(linked, name))
}
