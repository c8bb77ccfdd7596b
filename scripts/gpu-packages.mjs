// llama.cpp's GPU builds: kept beside node_modules, which every install makes anew, and linked into it.
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const modules = join(root, 'node_modules')
const linked = join(modules, '@node-llama-cpp')
export const gpuFolder = join(root, '.gpu-binaries')

/** The npm packages of each backend on x64; there are none for other machines. */
export const gpuPackages = { cuda: ['linux-x64-cuda', 'linux-x64-cuda-ext'], vulkan: ['linux-x64-vulkan'] }

/** Of node-llama-cpp as it is installed: a build of another version is not loaded. */
export function pinnedVersion() {
  return JSON.parse(readFileSync(join(modules, 'node-llama-cpp/package.json'), 'utf8')).version
}

/** Puts what was fetched where node-llama-cpp looks for it; returns the names of builds that are of another version. */
export function linkGpuPackages() {
  if (!existsSync(gpuFolder)) return []
  const version = pinnedVersion()
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
  for (const name of Object.values(gpuPackages).flat()) {
    const path = join(linked, name)
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(path)
  }
  rmSync(gpuFolder, { recursive: true, force: true })
}

function link(name, entry) {
  mkdirSync(linked, { recursive: true })
  rmSync(join(linked, name), { recursive: true, force: true })
  symlinkSync(relative(linked, join(gpuFolder, entry)), join(linked, name))
}
