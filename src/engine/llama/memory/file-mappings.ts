import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type * as Koffi from 'koffi'

/** A part of a file in this process's memory, which nobody here can write to. */
export interface FileMapping {
  readonly address: bigint
  readonly bytes: bigint
}

/** So that the kernel takes the pages from this process; what is read of them again comes from the file. */
const dontNeed = 4

/**
 * Made ready to let go of what this process holds of files that it has mapped and only reads: nothing is lost, the
 * files stay in the machine's cache, and what is still used comes back page by page. What is returned must be called
 * while nobody unmaps them, since other memory may be at their place then. It returns how many bytes are mapped.
 */
export async function readyToLetGo(files: readonly string[]): Promise<() => number> {
  const numbers = new Set(await Promise.all(files.map(async (file) => (await stat(file, { bigint: true })).ino)))
  // Node has no function for it. Loaded only here: many engines never need it.
  const koffi: typeof Koffi = createRequire(import.meta.url)('koffi')
  const advise = koffi.load(null).func('int madvise(uintptr_t address, size_t bytes, int advice)')
  return () => {
    const mappings = mappingsIn(readFileSync('/proc/self/maps', 'utf8'), numbers)
    for (const { address, bytes } of mappings) advise(address, bytes, dontNeed)
    return mappings.reduce((sum, { bytes }) => sum + Number(bytes), 0)
  }
}

/** Lines of `/proc/PID/maps`: `7f1000-7f2000 r--s 00000000 fe:00 1234  /models/a.gguf`. */
export function mappingsIn(maps: string, files: ReadonlySet<bigint>): readonly FileMapping[] {
  return [...maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) r--[ps] [0-9a-f]+ \S+ (\d+)/gm)].flatMap(
    ([, from = '', to = '', file = '']) => {
      const address = BigInt(`0x${from}`)
      return files.has(BigInt(file)) ? [{ address, bytes: BigInt(`0x${to}`) - address }] : []
    },
  )
}
