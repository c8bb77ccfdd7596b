import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { VolumeFiles } from './volume-files.ts'

const dataLink = '..data'

/**
 * Makes a folder hold exactly these files, so that a reader sees either all the old ones or all the new ones: the files are in a
 * folder of their own, and one rename of the link `..data` publishes it. The names people use are links through it. Returns
 * whether anything had to be changed.
 *
 * All at once: a Pod waits for it, and two dozen steps of microseconds, each waiting for its turn on a busy machine, would take
 * it longer than the start of its program.
 */
export function publishFiles(folder: string, files: VolumeFiles): boolean {
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  const current = linkIn(folder)
  if (current !== undefined && holdsExactly(join(folder, current), files)) return false
  const version = `..${new Date().toISOString().replaceAll(/[-:]/g, '_')}.${randomBytes(4).toString('hex')}`
  for (const [path, { data, mode }] of files) {
    const target = join(folder, version, path)
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 })
    writeFileSync(target, data, { mode: 0o600 })
    chmodSync(target, mode)
  }
  mkdirSync(join(folder, version), { recursive: true, mode: 0o755 })
  // One may be left by a run that was killed right here.
  rmSync(join(folder, '..data_tmp'), { force: true })
  symlinkSync(version, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, dataLink))
  linkNames(folder, new Set([...files.keys()].map((path) => path.split('/')[0] ?? path)))
  for (const name of readdirSync(folder)) {
    if (name.startsWith('..') && name !== dataLink && name !== version) {
      rmSync(join(folder, name), { recursive: true, force: true })
    }
  }
  return true
}

function linkIn(folder: string): string | undefined {
  try {
    return readlinkSync(join(folder, dataLink))
  } catch {
    return undefined
  }
}

function linkNames(folder: string, names: ReadonlySet<string>): void {
  const present = readdirSync(folder)
  for (const name of present) {
    if (!name.startsWith('..') && !names.has(name)) rmSync(join(folder, name), { recursive: true, force: true })
  }
  for (const name of names) {
    if (!present.includes(name)) symlinkSync(join(dataLink, name), join(folder, name))
  }
}

function holdsExactly(folder: string, files: VolumeFiles): boolean {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    if (entries.filter((entry) => entry.isFile()).length !== files.size) return false
    for (const [path, { data, mode }] of files) {
      const target = join(folder, path)
      if ((statSync(target).mode & 0o777) !== mode || !data.equals(readFileSync(target))) return false
    }
    return true
  } catch {
    return false
  }
}
