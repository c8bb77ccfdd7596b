import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type CollectGarbage = (options: { readonly type: 'major'; readonly execution: 'async' }) => Promise<void>

/**
 * Lets go of what a start leaves behind: modules as text, and a nursery that has grown to its largest. V8 collects when
 * a heap grows, which one at rest does not do, so it would hold a sixth of its memory for nothing. After this once,
 * V8's own memory reducer gives the rest back in small steps.
 */
export function collectStartGarbage(): void {
  // The flag is the whole process's: it is not taken back, because another thread may be between these two lines.
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('globalThis.gc')
  if (isCollect(collect)) collect({ type: 'major', execution: 'async' }).catch(() => {})
}

function isCollect(value: unknown): value is CollectGarbage {
  return typeof value === 'function'
}
