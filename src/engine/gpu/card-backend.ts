import { join } from 'node:path'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { chooseGpuBuild, probeGpuBuild } from './gpu-probe.ts'
import type { InstalledGpuBuild } from './gpu-probe-builds.ts'
import { GpuProbeMemory, gpuCacheFolder, gpuCircumstances } from './gpu-probe-memory.ts'
import { type LlamaAddon, type LlamaBackend, type LlamaBackendOptions, openAddon } from '../llama/native/llama-addon.ts'

/** Undefined if none of the builds works here. */
export async function openOnCards(
  builds: readonly InstalledGpuBuild[],
  { log, signal }: LlamaBackendOptions,
): Promise<LlamaBackend | undefined> {
  const cache = gpuCacheFolder(process.env)
  // The driver takes most of a minute to compile kernels for a card. By default it keeps them in HOME, which is lost
  // with the Pod.
  process.env['CUDA_CACHE_PATH'] ??= join(cache, 'kernels')
  const circumstances = await gpuCircumstances(
    builds.map(({ folder }) => folder),
    process.env,
  )
  const memory = new GpuProbeMemory(join(cache, 'proofs.json'), circumstances)
  const remembered = await memory.take()
  const build = await chooseGpuBuild({ builds, remembered, prove: (name) => probeGpuBuild(name, signal), log })
  if (!build) return undefined
  try {
    const addon = await openGpuBuild(build, log)
    log.info({ build: build.name, cards: addon.getGpuDeviceInfo().deviceNames }, 'computing on the GPU')
    return { addon, gpu: true, binary: fileOf(build), confirm: () => memory.keep(build.name) }
  } catch (error) {
    log.warn({ build: build.name, reason: errorMessage(error) }, 'the GPU build of llama.cpp cannot be opened')
    return undefined
  }
}

/** Without a logger llama.cpp writes its messages directly, so that the last ones before an abort are not lost. */
export async function openGpuBuild(build: InstalledGpuBuild, log: Logger | undefined): Promise<LlamaAddon> {
  const addon = openAddon(fileOf(build), true, log)
  if (addon.getGpuType() === false) throw new Error('no card was found')
  await addon.init()
  return addon
}

function fileOf({ folder, gpu }: InstalledGpuBuild): string {
  return join(folder, `${process.platform}-${process.arch}-${gpu}`, 'llama-addon.node')
}
