import { join } from 'node:path'
import { errorMessage } from '../../foundation/errors.ts'
import { binaryFolder } from '../llama/native/llama-addon.ts'

/** One of llama.cpp's builds for GPUs, as `npm run gpu-binaries` installs it. */
export interface GpuBuild {
  readonly name: string
  readonly gpu: 'cuda' | 'vulkan'
  /** What a machine must have for this build, in words. */
  readonly needs: string
}

/** In order of preference. */
const gpuBuilds: readonly GpuBuild[] = [
  {
    name: 'cuda',
    gpu: 'cuda',
    needs:
      "CUDA 13's libraries (libcudart.so.13, libcublas.so.13) and NVIDIA's driver 590 or later (580 for compute capability 8.6, 8.9 and 12)",
  },
  {
    name: 'cuda-fallback',
    gpu: 'cuda',
    needs: "CUDA 12's libraries (libcudart.so.12, libcublas.so.12) and NVIDIA's driver 550 or later",
  },
  { name: 'vulkan', gpu: 'vulkan', needs: "libvulkan.so.1 and the card's Vulkan driver" },
]

export interface InstalledGpuBuild extends GpuBuild {
  readonly folder: string
}

export function installedGpuBuilds(): readonly InstalledGpuBuild[] {
  return gpuBuilds.flatMap((build) => {
    const folder = folderOf(build)
    return folder === undefined ? [] : { ...build, folder }
  })
}

export function requireGpuBuild(name: string): GpuBuild {
  const build = gpuBuilds.find((build) => build.name === name)
  if (!build)
    throw new RangeError(`${name} is not a GPU build; there are ${gpuBuilds.map(({ name }) => name).join(', ')}`)
  return build
}

/** Why the library of a build cannot be loaded, in the words of the system's loader; undefined when it can be. */
export function loadingError(build: GpuBuild): string | undefined {
  const folder = folderOf(build)
  if (folder === undefined) return 'it is not installed'
  try {
    process.dlopen({ exports: {} }, join(folder, `linux-${process.arch}-${build.gpu}`, `libggml-${build.gpu}.so`))
    return undefined
  } catch (error) {
    return errorMessage(error)
  }
}

/** A build that was not asked for is an empty package. */
function folderOf({ name }: GpuBuild): string | undefined {
  return binaryFolder(`-${name}`)
}
