import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type CollectGarbage = (options: { readonly type: 'major'; readonly execution: 'async' }) => Promise<void>

/**
 * Collects all garbage of this thread, and resolves when what it held outside of V8's heap is freed, too. V8 collects
 * only when a heap grows, so a program that has become idle would keep what it no longer needs.
 */
export async function collectGarbage(): Promise<void> {
  // The flag applies to the whole process. It is not reset, since another thread may be between these two lines.
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('globalThis.gc')
  if (!isCollect(collect)) return
  await collect({ type: 'major', execution: 'async' })
  // Native objects are freed in a turn of their own.
  await new Promise((resolve) => setImmediate(resolve))
}

function isCollect(value: unknown): value is CollectGarbage {
  return typeof value === 'function'
}
