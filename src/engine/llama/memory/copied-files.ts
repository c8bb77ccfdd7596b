import { readFileSync } from 'node:fs'
import type { Clock } from '../../../foundation/clock.ts'
import { errorMessage } from '../../../foundation/errors.ts'
import type { Logger } from '../../../foundation/log.ts'
import { modelBytes, modelFiles } from '../../models/model-file.ts'
import type { LlamaLanguageModel } from '../llama-language-model.ts'
import { readyToLetGo } from './file-mappings.ts'

export interface CopiedFiles {
  /** The first, if there are several. */
  readonly file: string
  readonly languageModel: Pick<LlamaLanguageModel, 'whileLoaded'>
  readonly isOnCards: boolean
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Whoever woke the model is answered first. */
const settleMs = 1_000

/**
 * Gives back, a while after the start, what is held of a model's files where llama.cpp has copied them: to cards, or
 * packed as the processor computes fastest. Otherwise the model would be in memory twice.
 */
export function letGoOfCopiedFiles({ file, languageModel, isOnCards, clock, log, signal }: CopiedFiles): void {
  const letGo = async () => {
    if (!isOnCards && anonymousBytes() < (await modelBytes(file))) return
    const now = await readyToLetGo(modelFiles(file))
    const bytes = await languageModel.whileLoaded(now)
    log.debug({ bytes }, "the model's files are mapped, and none of their pages is held")
  }
  const cancel = clock.after(settleMs, () => {
    signal.removeEventListener('abort', cancel)
    letGo().catch((error: unknown) => log.debug({ reason: errorMessage(error) }, "the model's files stay in memory"))
  })
  signal.addEventListener('abort', cancel, { once: true })
}

/** Memory of this process that is no part of a file: less than a model has, if it was not copied. */
function anonymousBytes(): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1024
}
