import { createHash } from 'node:crypto'
import { ArchiveFault } from '../tar/archive-fault.ts'

/** The hash that some content must have: `sha256:<64 hexadecimal digits>`. */
export interface Digest {
  readonly algorithm: 'sha256' | 'sha512'
  readonly hex: string
}

const patterns = { sha256: /^[0-9a-f]{64}$/, sha512: /^[0-9a-f]{128}$/ } as const

export function parseDigest(text: string): Digest | undefined {
  const colon = text.indexOf(':')
  const algorithm = text.slice(0, colon)
  const hex = text.slice(colon + 1)
  if (algorithm !== 'sha256' && algorithm !== 'sha512') return undefined
  return patterns[algorithm].test(hex) ? { algorithm, hex } : undefined
}

export function requireDigest(text: string): Digest {
  const digest = parseDigest(text)
  if (!digest) throw new ArchiveFault(`"${text.slice(0, 100)}" is not a digest that is known here (sha256 or sha512)`)
  return digest
}

export function digestText({ algorithm, hex }: Digest): string {
  return `${algorithm}:${hex}`
}

export function sha256Of(content: Buffer): Digest {
  return { algorithm: 'sha256', hex: createHash('sha256').update(content).digest('hex') }
}

/** Passes all pieces through, and throws after the last one if the hash is wrong. */
export async function* verified(
  pieces: AsyncIterable<Buffer>,
  expected: Digest,
  what: string,
): AsyncGenerator<Buffer, void, undefined> {
  const hash = createHash(expected.algorithm)
  for await (const piece of pieces) {
    hash.update(piece)
    yield piece
  }
  requireSame(hash.digest('hex'), expected, what)
}

export function verifyWhole(content: Buffer, expected: Digest, what: string): void {
  requireSame(createHash(expected.algorithm).update(content).digest('hex'), expected, what)
}

function requireSame(actual: string, expected: Digest, what: string): void {
  if (actual === expected.hex) return
  const { algorithm } = expected
  throw new ArchiveFault(`${what} has the digest ${algorithm}:${actual}, not ${digestText(expected)}: it is damaged`)
}
