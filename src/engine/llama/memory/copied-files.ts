import { readFileSync } from 'node:fs'
import { errorMessage } from '../../../foundation/errors.ts'
import type { Logger } from '../../../foundation/log.ts'
import { modelBytes, modelFiles } from '../../models/model-file.ts'
import type { LlamaLanguageModel } from '../llama-language-model.ts'
import { readyToLetGo } from './file-mappings.ts'

export interface CopiedFiles {
  /** The first, if there are several. */
  readonly file: string
  readonly languageModel: Pick<LlamaLanguageModel, 'whenIdle'>
  readonly isOnCards: boolean
  readonly log: Logger
}

/** Whoever woke the model is answered first. */
const settleMs = 1_000

/**
 * Gives back, whenever nobody is answered, what is held of a model's files where llama.cpp has copied them: to cards,
 * or packed as the processor computes fastest. Otherwise the model would be in memory twice.
 */
export function letGoOfCopiedFiles({ file, languageModel, isOnCards, log }: CopiedFiles): void {
  // Just after the start: later, conversations have memory, too.
  const ownBytes = anonymousBytes()
  let letGo: Promise<() => void> | undefined
  const makeReady = async () => {
    try {
      if (!isOnCards && ownBytes < (await modelBytes(file))) return nothing
      const now = await readyToLetGo(modelFiles(file))
      return () => log.debug({ bytes: now() }, "the model's files are mapped, and none of their pages is held")
    } catch (error) {
      log.debug({ reason: errorMessage(error) }, "the model's files stay in memory")
      return nothing
    }
  }
  languageModel.whenIdle(settleMs, async () => {
    letGo ??= makeReady()
    const now = await letGo
    now()
    // Layers that found no place on the cards are read from their file for each token.
    if (isOnCards) letGo = Promise.resolve(nothing)
  })
}

const nothing = () => {}

/** Memory of this process that is no part of a file: less than a model has, if it was not copied. */
function anonymousBytes(): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1024
}
