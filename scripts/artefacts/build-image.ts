/**
 * Writes the container images of Sluice, for this machine's architecture, without any container engine:
 *
 *     node scripts/artefacts/build-image.ts dist/sluice-0.1.0-amd64.oci.tar
 *
 * `sluice/sluice` is every role and command; `sluice/llama-cpp` has llama.cpp besides and is the engine of that name.
 * The libraries below Node are this machine's. Load it with
 * `skopeo copy oci-archive:FILE:sluice/sluice:VERSION docker://…`.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { engineLayer, engineLibraries, nodeLayer, programLayer, systemLayer } from './image-layers.ts'
import { ociArchive, packLayer } from './oci-image.ts'
import { program, root } from './repository.ts'

/** As container engines call it. */
export const architecture = process.arch === 'x64' ? 'amd64' : process.arch

export function buildImage(file: string): void {
  const node = join(root, 'node_modules/node/bin/node')
  const system = packLayer(systemLayer([node, ...engineLibraries()]))
  const layers = [system, packLayer(nodeLayer(node)), packLayer(programLayer())]
  const run = ['/usr/bin/node', '--max-semi-space-size=8', '/opt/sluice/bin/sluice.mjs']
  const images = [
    { name: `sluice/sluice:${program.version}`, description: program.description, entrypoint: run, layers },
    {
      name: `sluice/llama-cpp:${program.version}`,
      description: 'llama.cpp behind the OpenAI API: the engine LlamaCpp of Sluice.',
      entrypoint: [...run, 'serve'],
      layers: [...layers, packLayer(engineLayer())],
    },
  ]
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, ociArchive(images, architecture))
}

const [, script, file] = process.argv
if (script === import.meta.filename) {
  if (file === undefined) throw new Error('name the file to write')
  buildImage(file)
}
