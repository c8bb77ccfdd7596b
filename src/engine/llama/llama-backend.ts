import { join } from 'node:path'
import { SluiceError } from '../../foundation/errors.ts'
import type { InstalledGpuBuild } from '../gpu/gpu-probe-builds.ts'
import { type LlamaBackend, type LlamaBackendOptions, binaryFolder, openAddon } from './native/llama-addon.ts'

/** Opens llama.cpp on the machine's cards if one of the builds for them has computed there, else on the CPU. */
export async function openLlama(
  builds: readonly InstalledGpuBuild[],
  options: LlamaBackendOptions,
): Promise<LlamaBackend> {
  if (builds.length === 0) return openOnCpu(options)
  const { openOnCards } = await import('../gpu/card-backend.ts')
  return (await openOnCards(builds, options)) ?? openOnCpu(options)
}

async function openOnCpu({ log }: LlamaBackendOptions): Promise<LlamaBackend> {
  const folder = binaryFolder()
  if (folder === undefined) {
    const reason = `llama.cpp's binaries for ${process.platform}-${process.arch} are not installed. Install again with optional dependencies.`
    throw new SluiceError('engine_start_failed', { reason })
  }
  const binary = join(folder, `${process.platform}-${process.arch}`, 'llama-addon.node')
  const addon = openAddon(binary, false, log)
  await addon.init()
  return { addon, gpu: false, binary, confirm: async () => {} }
}
