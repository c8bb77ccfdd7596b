import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  lstatSync,
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
import { inTurns } from './in-turns.ts'
import type { VolumeFiles } from './volume-files.ts'

const dataLink = '..data'

/**
 * Replaces a folder's files so that readers see either all old or all new ones, as the kubelet does: the files are in a
 * new subfolder, which one rename of the link `..data` publishes, and the visible names are links through `..data`. If
 * a group is given, it owns the files and may read them. Returns whether anything changed.
 */
export function publishFiles(folder: string, files: VolumeFiles, group?: number): Promise<boolean> {
  const readable = [...files].map(([path, file]) => [path, { ...file, mode: file.mode | 0o440 }] as const)
  return inTurns(publishing(folder, group === undefined ? files : new Map(readable), group))
}

function* publishing(folder: string, files: VolumeFiles, group: number | undefined): Generator<undefined, boolean> {
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  const give = (path: string) => {
    if (group !== undefined) chownSync(path, -1, group)
  }
  give(folder)
  const current = linkIn(folder)
  if (current !== undefined && (yield* holdsExactly(join(folder, current), files))) return false
  const version = `..${new Date().toISOString().replaceAll(/[-:]/g, '_')}.${randomBytes(4).toString('hex')}`
  for (const [path, { data, mode }] of files) {
    const target = join(folder, version, path)
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 })
    writeFileSync(target, data, { mode: 0o600 })
    give(target)
    chmodSync(target, mode)
    yield undefined
  }
  mkdirSync(join(folder, version), { recursive: true, mode: 0o755 })
  // May have been left by a run that was killed here.
  rmSync(join(folder, '..data_tmp'), { force: true })
  symlinkSync(version, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, dataLink))
  yield* linkNames(folder, new Set([...files.keys()].map((path) => path.split('/')[0] ?? path)))
  for (const name of readdirSync(folder)) {
    if (name.startsWith('..') && name !== dataLink && name !== version) yield* removing(join(folder, name))
  }
  return true
}

/** Removes the folder of an older version, file by file. */
function* removing(path: string): Generator<undefined, void> {
  const isFolder = lstatSync(path).isDirectory()
  const entries = isFolder ? readdirSync(path, { recursive: true, withFileTypes: true, encoding: 'utf8' }) : []
  for (const entry of entries) {
    if (entry.isDirectory()) continue
    rmSync(join(entry.parentPath, entry.name), { force: true })
    yield undefined
  }
  rmSync(path, { recursive: true, force: true })
}

function linkIn(folder: string): string | undefined {
  try {
    return readlinkSync(join(folder, dataLink))
  } catch {
    return undefined
  }
}

function* linkNames(folder: string, names: ReadonlySet<string>): Generator<undefined, void> {
  const present = new Set(readdirSync(folder))
  for (const name of present) {
    if (name.startsWith('..') || names.has(name)) continue
    rmSync(join(folder, name), { recursive: true, force: true })
    yield undefined
  }
  for (const name of names) {
    if (present.has(name)) continue
    symlinkSync(join(dataLink, name), join(folder, name))
    yield undefined
  }
}

function* holdsExactly(folder: string, files: VolumeFiles): Generator<undefined, boolean> {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    if (entries.filter((entry) => entry.isFile()).length !== files.size) return false
    for (const [path, { data, mode }] of files) {
      const target = join(folder, path)
      if ((statSync(target).mode & 0o777) !== mode || !data.equals(readFileSync(target))) return false
      yield undefined
    }
    return true
  } catch {
    return false
  }
}
