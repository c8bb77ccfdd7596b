// Removes from node_modules what Sluice never uses, so that a whole install stays small (decision 0002): source maps of
// dependencies, llama.cpp's source bundle (we never build from source), prebuilt binaries of other machines, the
// headers and second npm beside the pinned Node. Runs as this package's own postinstall, on whatever Node the machine
// has.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { linkGpuPackages } from './gpu-packages.mjs'

const modules = fileURLToPath(new URL('../node_modules', import.meta.url))

function removeSourceMaps(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) removeSourceMaps(path)
    else if (entry.isFile() && entry.name.endsWith('.map')) rmSync(path, { force: true })
  }
}

if (existsSync(modules)) {
  removeSourceMaps(modules)
  rmSync(join(modules, 'node-llama-cpp/llama/gitRelease.bundle'), { force: true })
  for (const extra of ['include', 'lib', 'share']) {
    rmSync(join(modules, 'node/node_modules', `node-linux-${process.arch}`, extra), { recursive: true, force: true })
  }
  const prebuilt = join(modules, '@node-llama-cpp')
  const mine = `linux-${process.arch}`
  for (const name of existsSync(prebuilt) ? readdirSync(prebuilt) : []) {
    if (!name.startsWith(mine)) rmSync(join(prebuilt, name), { recursive: true, force: true })
  }
  // The documented opt-in survives an install.
  for (const build of linkGpuPackages()) {
    console.log(`The GPU build ${build} is of another version: run \`npm run gpu-binaries\` again.`)
  }
}
