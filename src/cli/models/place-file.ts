import { createReadStream, createWriteStream } from 'node:fs'
import { constants, copyFile, link, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errorMessage } from '../../foundation/errors.ts'

export interface PlacingOptions {
  readonly signal: AbortSignal
  /** Told of what is copied; a file that is only linked takes no time. */
  readonly onCopied: (bytes: number) => void
}

const pieceBytes = 1024 * 1024

/**
 * Puts a file of this machine at another place, under which it is seen only when it is whole. Within a file system
 * nothing is copied: a model may be as large as the disk.
 */
export async function placeFile(from: string, to: string, { signal, onCopied }: PlacingOptions): Promise<void> {
  // Caches of downloads are full of links, which would lead nowhere from a claim.
  const file = await realpath(from)
  await rm(to, { force: true })
  try {
    return await link(file, to)
  } catch {
    // Another file system, or one without links.
  }
  const part = join(dirname(to), `.${basename(to)}.part`)
  try {
    if (await isCloned(file, part)) onCopied((await stat(part)).size)
    else
      await pipeline(
        createReadStream(file, { highWaterMark: pieceBytes }),
        counted(onCopied),
        createWriteStream(part, { flush: true }),
        { signal },
      )
    await rename(part, to)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Some file systems let copies share their bytes. */
async function isCloned(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch (error) {
    // A disk that is full will not get better by writing to it.
    if (errorMessage(error).startsWith('ENOSPC')) throw error
    return false
  }
}

function counted(tell: (bytes: number) => void): Transform {
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      tell(piece.length)
      done(null, piece)
    },
  })
}
