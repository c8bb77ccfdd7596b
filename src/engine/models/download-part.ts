import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { z } from 'zod'

/** The beginning of a file that an earlier attempt has downloaded. */
export interface KnownPart {
  readonly bytes: number
  /** The ETag or date of the file that the part belongs to. */
  readonly validator: string | undefined
}

const notes = z.object({ validator: z.string().optional() })

/**
 * The part at a path, if it can be continued: either the server can confirm that it belongs to the same file, or the
 * checksum of the finished file will be checked.
 */
export async function partAt(destination: string, verified: boolean): Promise<KnownPart | undefined> {
  const bytes = await sizeOf(destination)
  if (bytes === 0) return undefined
  const text = await readFile(notesOf(destination), 'utf8').catch(() => '{}')
  const parsed = notes.safeParse(parseOrUndefined(text))
  const validator = parsed.success ? parsed.data.validator : undefined
  return validator === undefined && !verified ? undefined : { bytes, validator }
}

export async function notePart(destination: string, validator: string | undefined): Promise<void> {
  await writeFile(notesOf(destination), JSON.stringify({ validator }))
}

/** Removes the part that an attempt has left. */
export async function discardPart(destination: string): Promise<void> {
  await Promise.all([rm(destination, { force: true }), rm(notesOf(destination), { force: true })])
}

export async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    (info) => info.size,
    () => 0,
  )
}

function notesOf(destination: string): string {
  return `${destination}.json`
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
