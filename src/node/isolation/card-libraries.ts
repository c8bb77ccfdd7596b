import { lstatSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { EntryStep } from './entry-steps.ts'
import { namesInFolder } from '../names-in-folder.ts'

/** Where images for NVIDIA cards look for the machine's driver libraries. */
export const cardLibraryFolder = '/usr/local/nvidia/lib64'
const cardProgramFolder = '/usr/local/nvidia/bin'

const machineFolders = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib/wsl/lib',
  '/run/opengl-driver/lib',
  cardLibraryFolder,
]
const machinePrograms = ['/usr/bin', '/usr/lib/wsl/lib', cardProgramFolder]
/** Libraries of the driver itself, which must match the kernel module. All others come with the image. */
const driverLibrary = /^lib(?:cuda|cudadebugger|nvcuvid|nvoptix|nvidia-[a-z0-9-]+)\.so(?:\.|$)/
const driverPrograms = ['nvidia-smi', 'nvidia-debugdump']

/**
 * Makes the machine's driver visible in containers that have an image and cards. Programs of the machine see it anyway.
 */
export function driverSteps(folders: readonly string[] = machineFolders): EntryStep[] {
  const libraries = folders.flatMap((folder) =>
    namesInFolder(folder)
      .filter((name) => driverLibrary.test(name))
      .map((name) => ({ path: join(folder, name), name })),
  )
  const programs = machinePrograms.flatMap((folder) =>
    driverPrograms.map((name) => ({ path: join(folder, name), name })),
  )
  const seen = new Set<string>()
  const show = (target: string, { path, name }: { readonly path: string; readonly name: string }): EntryStep[] => {
    const facts = lstatSync(path, { throwIfNoEntry: false })
    const place = join(target, name)
    if (!facts || seen.has(place)) return []
    seen.add(place)
    if (facts.isFile()) return [['bind', path, '', place, 'ro', 'nosuid', 'nodev']]
    // Only links between versions of a library are kept; others would lead nowhere in the image.
    const link = facts.isSymbolicLink() ? readlinkSync(path) : '/'
    return link.includes('/') ? [] : [['link', place, link]]
  }
  return [
    ...libraries.flatMap((library) => show(cardLibraryFolder, library)),
    ...programs.flatMap((program) => show(cardProgramFolder, program)),
  ]
}
