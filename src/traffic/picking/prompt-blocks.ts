/** The size of a block in bytes, about a hundred tokens. Prompts that share less share only a template. */
const blockBytes = 512
/** The most blocks looked at: enough to tell prompts apart. */
const mostBlocks = 64

const beginnings = ['"messages"', '"prompt"'].map((name) => Buffer.from(name))
/** The prompt has to begin within this many bytes of the body. */
const searchedBytes = 4_096

const noBlocks: readonly number[] = []

/**
 * Hashes of the blocks a prompt begins with, each including all before it: equal numbers mean equal prompts up to
 * there. They are taken from the raw bytes without parsing, because a client continuing a conversation repeats its
 * beginning unchanged.
 */
export function promptBlocks(body: Buffer): readonly number[] {
  const start = promptStart(body)
  if (start < 0) return noBlocks
  const count = Math.min(mostBlocks, Math.floor((body.length - start) / blockBytes))
  if (count === 0) return noBlocks
  const blocks: number[] = []
  let hash = 0x811c9dc5
  for (let block = 0, at = start; block < count; block++) {
    // Four bytes a step: FNV-1a's mixing, with the bits of the word spread first.
    for (const end = at + blockBytes; at < end; at += 4) {
      hash = Math.imul(hash ^ Math.imul(wordAt(body, at), 0x9e3779b1), 0x01000193)
      hash ^= hash >>> 15
    }
    blocks.push(hash >>> 0)
  }
  return blocks
}

function promptStart(body: Buffer): number {
  const searched = body.length > searchedBytes ? body.subarray(0, searchedBytes) : body
  for (const beginning of beginnings) {
    const at = searched.indexOf(beginning)
    if (at >= 0) return at
  }
  return -1
}

function wordAt(bytes: Buffer, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)
}
