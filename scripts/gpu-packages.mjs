// llama.cpp's GPU builds. They are kept beside node_modules, which every install replaces, and linked into it.
import { cpSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const modules = join(root, 'node_modules')
const linked = join(modules, '@node-llama-cpp')
export const gpuFolder = join(root, '.gpu-binaries')

/** The npm packages of each backend on x64; there are none for other architectures. */
export const gpuPackages = { cuda: ['linux-x64-cuda', 'linux-x64-cuda-ext'], vulkan: ['linux-x64-vulkan'] }

/**
 * The name of a package that is assembled here from the two CUDA packages, since node-llama-cpp uses the library of the
 * second only if that of the first cannot be loaded.
 */
const fallbackName = 'linux-x64-cuda-fallback'

/** The version of the installed node-llama-cpp: builds of another version are not loaded. */
export function pinnedVersion() {
  return JSON.parse(readFileSync(join(modules, 'node-llama-cpp/package.json'), 'utf8')).version
}

/**
 * Links the downloaded builds to where node-llama-cpp looks for them. Returns the names of builds of another version.
 */
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

/** Removes every build again. */
export function removeGpuPackages() {
  for (const name of [...Object.values(gpuPackages).flat(), fallbackName]) {
    const path = join(linked, name)
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(path)
  }
  rmSync(gpuFolder, { recursive: true, force: true })
}

/** Assembles the first package with the library of the second, which is for older drivers, in place of its own. */
function composeFallback(version) {
  for (const entry of readdirSync(gpuFolder)) {
    if (entry.startsWith(`${fallbackName}@`)) rmSync(join(gpuFolder, entry), { recursive: true })
  }
  const [main, extension] = gpuPackages.cuda.map((name) => join(gpuFolder, `${name}@${version}`))
  const library = 'libggml-cuda.so'
  const older = join(extension, 'bins/linux-x64-cuda/fallback', library)
  if (!existsSync(main) || !existsSync(older)) return
  const target = join(gpuFolder, `${fallbackName}@${version}`)
  // Node resolves links of imported files, so the module that says where the libraries are must be a copy.
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
