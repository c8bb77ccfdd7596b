// Removes what Sluice never uses from node_modules, so that an install stays small (decision 0002): source maps of
// dependencies, what llama.cpp and koffi would be built from (they never are), prebuilt binaries for other platforms,
// and the headers and second npm beside the pinned Node. Runs as this package's own postinstall, with whatever Node
// the machine has.
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
  for (const part of ['doc', 'lib', 'vendor']) {
    rmSync(join(modules, 'koffi', part), { recursive: true, force: true })
  }
  // The pinned Node is one for glibc.
  rmSync(join(modules, `@koromix/koffi-linux-${process.arch}/musl_${process.arch}`), { recursive: true, force: true })
  const prebuilt = join(modules, '@node-llama-cpp')
  const mine = `linux-${process.arch}`
  for (const name of existsSync(prebuilt) ? readdirSync(prebuilt) : []) {
    if (!name.startsWith(mine)) rmSync(join(prebuilt, name), { recursive: true, force: true })
  }
  // GPU builds that the user has downloaded survive an install.
  for (const build of linkGpuPackages()) {
    console.log(`The GPU build ${build} is of another version: run \`npm run gpu-binaries\` again.`)
  }
}
