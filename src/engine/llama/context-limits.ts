import { SluiceError } from '../../foundation/errors.ts'

/**
 * Used without --max-model-len. Every sequence keeps memory for its whole context, so the training length (often 128k)
 * would be too much.
 */
export const defaultContextLength = 4096

/**
 * How many tokens of a prompt are computed in one step. Other requests generate one token in each step, so a long
 * prompt must not hold them up, and a client that leaves is noticed after one step. Larger steps were not faster (CPU,
 * SmolLM2).
 */
export const promptStepTokens = 128

/**
 * The most tokens that are computed in one step: a part of a prompt, and a token of every other answer. llama.cpp
 * reserves memory for the results of all of them, which for a large vocabulary is more than a conversation takes.
 */
export function largestStep(sequences: number): number {
  return promptStepTokens + sequences
}

export function decideContextLength(maxModelLen: number | undefined, trainedLength: number): number {
  if (maxModelLen !== undefined && maxModelLen > trainedLength) {
    throw new SluiceError('engine_start_failed', {
      reason: `--max-model-len is ${maxModelLen}, but the model was trained on ${trainedLength} tokens.`,
    })
  }
  return maxModelLen ?? Math.min(trainedLength, defaultContextLength)
}
