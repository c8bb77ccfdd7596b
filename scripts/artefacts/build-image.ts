/**
 * Writes the container images of Sluice without any container engine, for this machine's architecture, and for those
 * whose parts were fetched (`fetch-platform.ts`):
 *
 *     node scripts/artefacts/build-image.ts dist/sluice-0.1.0.oci.tar [FETCHED...]
 *
 * `sluice/sluice` is every role and command; `sluice/llama-cpp` has llama.cpp besides and is the engine of that name.
 * The libraries below Node are this machine's. Load it with
 * `skopeo copy --all oci-archive:FILE:sluice/sluice:VERSION docker://…`.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { engineMemorySettings, nodeFlag } from '../../src/platform/images/own-program.ts'
import { buildEngine } from '../build-engine.ts'
import { engineLayer, nodeLayer, programLayer, systemLayer } from './image-layers.ts'
import { type NewImage, ociArchive, packLayer } from './oci-image.ts'
import { type Platform, fetchedPlatform, thisMachine } from './platform.ts'
import { program } from './repository.ts'

export async function buildImage(file: string, platforms: readonly Platform[]): Promise<void> {
  await buildEngine()
  const builds = await Promise.all(
    platforms.map(async (platform) => ({ architecture: platform.architecture, images: await imagesFor(platform) })),
  )
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, ociArchive(builds))
}

async function imagesFor(platform: Platform): Promise<readonly NewImage[]> {
  const trees = [systemLayer(platform), nodeLayer(platform), programLayer(platform)]
  const engineTree = packLayer(engineLayer(platform))
  const layers = await Promise.all(trees.map(packLayer))
  const run = ['/usr/bin/node', nodeFlag, '/opt/sluice/bin/sluice.mjs']
  return [
    { name: `sluice/sluice:${program.version}`, description: program.description, entrypoint: run, layers },
    {
      name: `sluice/llama-cpp:${program.version}`,
      description: 'llama.cpp behind the OpenAI API: the engine LlamaCpp of Sluice.',
      entrypoint: [...run, 'serve'],
      env: engineMemorySettings,
      layers: [...layers, await engineTree],
    },
  ]
}

const [, script, file, ...fetched] = process.argv
if (script === import.meta.filename) {
  if (file === undefined) throw new Error('name the file to write')
  await buildImage(file, [thisMachine(), ...fetched.map(fetchedPlatform)])
}
