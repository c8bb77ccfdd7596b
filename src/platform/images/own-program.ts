import { fileURLToPath } from 'node:url'

export const mainProgram = fileURLToPath(new URL('../../../bin/sluice.mjs', import.meta.url))

/** A smaller nursery: a busy API server would let garbage fill a hundred megabytes more before it is collected. */
export const nodeFlag = '--max-semi-space-size=8'

/**
 * What large answers took goes back to the machine soon after: glibc would keep an arena per thread, each at its
 * largest, and take ever larger pieces from it.
 */
export const memorySettings = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '4194304',
  MALLOC_TRIM_THRESHOLD_: '8388608',
}

/** An engine's weights are written to large pages: a model is awake a twentieth sooner, for 5 MiB. */
export const engineMemorySettings = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' }
