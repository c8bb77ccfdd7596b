import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { z } from 'zod'
import { errorMessage } from '../../foundation/errors.ts'

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

const installedPackage = z.object({ getBinsDir: z.function({ output: z.object({ binsDir: z.string() }) }) })

export interface InstalledGpuBuild extends GpuBuild {
  readonly folder: string
}

export async function installedGpuBuilds(): Promise<readonly InstalledGpuBuild[]> {
  const found = await Promise.all(gpuBuilds.map(async (build) => ({ ...build, folder: await folderOf(build) })))
  return found.flatMap(({ folder, ...build }) => (folder === undefined ? [] : { ...build, folder }))
}

export function requireGpuBuild(name: string): GpuBuild {
  const build = gpuBuilds.find((build) => build.name === name)
  if (!build)
    throw new RangeError(`${name} is not a GPU build; there are ${gpuBuilds.map(({ name }) => name).join(', ')}`)
  return build
}

/**
 * Makes node-llama-cpp open this build. The library has one package for each kind of GPU, and tries the fallback in it
 * only if the main build cannot be loaded. A build that loads but cannot compute must therefore be hidden from it.
 */
export function useGpuBuild({ name, gpu }: GpuBuild): void {
  if (name === gpu) return
  registerHooks({
    resolve: (specifier, context, next) => next(specifier === packageOf(gpu) ? packageOf(name) : specifier, context),
  })
}

/** Why the library of a build cannot be loaded, in the words of the system's loader; undefined when it can be. */
export async function loadingError(build: GpuBuild): Promise<string | undefined> {
  const folder = await folderOf(build)
  if (folder === undefined) return 'it is not installed'
  try {
    process.dlopen({ exports: {} }, join(folder, `linux-${process.arch}-${build.gpu}`, `libggml-${build.gpu}.so`))
    return undefined
  } catch (error) {
    return errorMessage(error)
  }
}

/** The folder of an installed build. A build that was not asked for is an empty package. */
async function folderOf({ name }: GpuBuild): Promise<string | undefined> {
  try {
    const installed = installedPackage.safeParse(await import(packageOf(name)))
    return installed.data?.getBinsDir().binsDir
  } catch {
    return undefined
  }
}

function packageOf(name: string): string {
  return `@node-llama-cpp/${process.platform}-${process.arch}-${name}`
}
