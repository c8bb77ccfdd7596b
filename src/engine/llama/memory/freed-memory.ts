import { createRequire } from 'node:module'
import type * as Koffi from 'koffi'
import { errorMessage } from '../../../foundation/errors.ts'
import { collectGarbage } from '../../../foundation/garbage.ts'
import type { Logger } from '../../../foundation/log.ts'
import type { LlamaLanguageModel } from '../llama-language-model.ts'

/** After the memory of conversations was given back, for which a language model waits a minute. */
const restMs = 61_000

/**
 * Gives what was freed back to the machine whenever nobody has been answered for a while. glibc keeps what lies between
 * pieces that are still used, so after a burst of requests an engine would keep almost all that it ever had.
 */
export function giveBackAtRest(languageModel: Pick<LlamaLanguageModel, 'whenIdle'>, log: Logger): void {
  let giveBack: (() => void) | undefined
  languageModel.whenIdle(restMs, async () => {
    try {
      const before = process.memoryUsage.rss()
      await collectGarbage()
      giveBack ??= readyToGiveBack()
      giveBack()
      log.debug({ bytes: before - process.memoryUsage.rss() }, 'memory that was freed is given back')
    } catch (error) {
      log.debug({ reason: errorMessage(error) }, 'memory that was freed is kept')
    }
  })
}

/** Made ready to give back all of this process's memory that was freed. */
export function readyToGiveBack(): () => void {
  // Node has no function for it. Loaded only here: many engines are asleep before.
  const koffi: typeof Koffi = createRequire(import.meta.url)('koffi')
  const trim = koffi.load(null).func('int malloc_trim(size_t keptAtTheEnd)')
  return () => void trim(0)
}
