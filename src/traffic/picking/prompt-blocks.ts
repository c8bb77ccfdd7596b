/**
 * Bytes of a block: about a hundred tokens. What two requests share below it is a template's boilerplate, not a prompt.
 */
const blockBytes = 512
/** Beyond this the prompt is long enough to be told from others. */
const mostBlocks = 64

const beginnings = ['"messages"', '"prompt"'].map((name) => Buffer.from(name))
/** How far into a body its prompt may begin: other fields come before it. */
const searchedBytes = 4_096

const noBlocks: readonly number[] = []

/**
 * The blocks a prompt begins with, as chained hashes: equal numbers mean that everything up to there is equal. Taken
 * from the bytes as they came, without parsing: whoever goes on with a conversation sends its beginning unchanged.
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
