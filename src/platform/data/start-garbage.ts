import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type CollectGarbage = (options: { readonly type: 'major'; readonly execution: 'async' }) => Promise<void>

/**
 * Frees the memory that a start leaves behind: source texts of modules, and a young generation that has grown to its
 * largest. V8 collects only when a heap grows, so an idle program would keep a sixth of its memory for nothing. After
 * this one collection, V8's own memory reducer gives the rest back in small steps.
 */
export function collectStartGarbage(): void {
  // The flag applies to the whole process. It is not reset, since another thread may be between these two lines.
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('globalThis.gc')
  if (isCollect(collect)) collect({ type: 'major', execution: 'async' }).catch(() => {})
}

function isCollect(value: unknown): value is CollectGarbage {
  return typeof value === 'function'
}
