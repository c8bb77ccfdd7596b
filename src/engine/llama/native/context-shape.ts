import type { GgufHeader } from '../../models/gguf-header.ts'

/** How many sequences a context holds, and how many tokens each of them may have. */
export interface ContextShape {
  readonly sequences: number
  readonly length: number
}

/** llama.cpp rounds the length of a sequence up to this. */
const lengthStep = 256
/** What a context begins with: enough for a question. What is reserved before the first answer delays it. */
const firstLength = 256
const bytesPerNumber = 2

export function smallestShape(most: ContextShape): ContextShape {
  return { sequences: 1, length: Math.min(firstLength, most.length) }
}

/**
 * The shape in which these sequences and tokens have room. It doubles, so that a long answer moves to a larger context
 * a few times only.
 */
export function grownShape(shape: ContextShape, needed: ContextShape, most: ContextShape): ContextShape {
  return {
    sequences: grown(shape.sequences, needed.sequences, most.sequences),
    length: grown(shape.length, needed.length, most.length),
  }
}

export function hasRoom(shape: ContextShape, needed: ContextShape): boolean {
  return shape.sequences >= needed.sequences && shape.length >= needed.length
}

/** The smallest shape for one sequence of so many tokens. */
export function shapeFor(tokens: number, most: ContextShape): ContextShape {
  const small = smallestShape(most)
  return grownShape(small, { sequences: 1, length: tokens }, most)
}

function grown(current: number, needed: number, most: number): number {
  let size = current
  while (size < needed) size *= 2
  return Math.min(size, most)
}

/** The tokens of all sequences together, as a context is asked for. */
export function contextTokens({ sequences, length }: ContextShape): number {
  return Math.ceil(length / lengthStep) * lengthStep * sequences
}

/**
 * What a token takes in memory: a key and a value in every layer. For architectures with a smaller memory this is more
 * than they need, so that no more is promised than there is.
 */
export function bytesPerToken(header: GgufHeader): number {
  const key = (name: string) => `${header.architecture}.${name}`
  const layers = header.number(key('block_count')) ?? 0
  const width = header.number(key('embedding_length')) ?? 0
  const heads =
    header.number(key('attention.head_count')) ?? Math.max(1, ...(header.numbers(key('attention.head_count')) ?? []))
  const perLayer = header.numbers(key('attention.head_count_kv'))
  const sharedHeads = header.number(key('attention.head_count_kv')) ?? heads
  const headsOfAllLayers = perLayer ? perLayer.reduce((sum, count) => sum + count, 0) : layers * sharedHeads
  const keyLength = header.number(key('attention.key_length')) ?? width / heads
  const valueLength = header.number(key('attention.value_length')) ?? width / heads
  return headsOfAllLayers * (keyLength + valueLength) * bytesPerNumber
}
