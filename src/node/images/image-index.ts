import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'

const recordSchema = z.object({
  /** The full name: `docker.io/library/busybox:latest`. */
  name: z.string(),
  /** The digest of its configuration, which also names its root folder. */
  id: z.string().regex(/^sha256:[0-9a-f]{64}$|^sha512:[0-9a-f]{128}$/),
  /** The digests of its manifest and of the index that referred to it. */
  digests: z.array(z.string()),
  platform: z.string(),
  /** When it was built, if the image says so. */
  created: z.string().optional(),
  importedAt: z.string(),
  /** The unpacked size of all layers. */
  bytes: z.number(),
})
const indexSchema = z.object({ version: z.literal(1), images: z.array(recordSchema) })

/** A name and the image it stands for. */
export type ImageRecord = z.infer<typeof recordSchema>

/**
 * The names of all images. Written with the store's lock held; readers need no lock and see either the old list or the
 * new one.
 */
export class ImageIndex {
  readonly #path: string
  #seen: { readonly stamp: string; readonly images: readonly ImageRecord[] } | undefined

  constructor(path: string) {
    this.#path = path
  }

  read(): readonly ImageRecord[] {
    const facts = statSync(this.#path, { throwIfNoEntry: false, bigint: true })
    if (!facts) return []
    const stamp = `${facts.ino} ${facts.mtimeNs} ${facts.size}`
    if (this.#seen?.stamp !== stamp) this.#seen = { stamp, images: this.#load() }
    return this.#seen.images
  }

  write(images: readonly ImageRecord[]): void {
    const temporary = `${this.#path}.new`
    const sorted = images.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    writeFileSync(temporary, `${JSON.stringify({ version: 1, images: sorted }, undefined, 2)}\n`, {
      mode: 0o600,
      flush: true,
    })
    renameSync(temporary, this.#path)
    syncFolder(dirname(this.#path))
  }

  #load(): readonly ImageRecord[] {
    try {
      return indexSchema.parse(JSON.parse(readFileSync(this.#path, 'utf8'))).images
    } catch (error) {
      throw new SluiceError('data_file_unreadable', { path: this.#path }, { cause: error })
    }
  }
}

/** Makes a rename in the folder survive a crash of the machine. */
export function syncFolder(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
