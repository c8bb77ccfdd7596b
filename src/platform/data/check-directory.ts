import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'

/** What a start writes at the very least: with less than this, it would end somewhere in the middle. */
const neededBytes = 256 * 1024

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'its file system is read-only',
  ENOTDIR: 'a part of it is a file, not a directory',
  EEXIST: 'it is a file, not a directory',
  ENOSPC: 'its disk is full',
  EDQUOT: "this user's quota on its disk is used up",
  ENOENT: 'nothing can be created there',
  ENAMETOOLONG: 'its name is too long',
  ELOOP: 'its links lead round in a circle',
}

/**
 * Creates the directory if it is missing, and writes something into it. If that fails, the error says why, and where.
 */
export function checkDirectory(path: string): void {
  const root = resolve(path)
  const probe = join(root, `.probe-${process.pid}`)
  try {
    makeDirectory(root)
    try {
      writeFileSync(probe, Buffer.alloc(neededBytes), { mode: 0o600 })
    } finally {
      rmSync(probe, { force: true })
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const reason = reasons[code] ?? errorMessage(error)
    throw new SluiceError('data_directory_unusable', { path: root, reason }, { cause: error })
  }
}

/** Step by step: Node's own way never ends where nothing can be created, such as in /proc, and hides why elsewhere. */
function makeDirectory(path: string): void {
  if (isDirectory(path)) return
  const parent = dirname(path)
  if (existsSync(parent) && !isDirectory(parent)) {
    throw Object.assign(new Error(`${parent} is no directory`), { code: 'ENOTDIR' })
  }
  if (parent !== path) makeDirectory(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have been faster.
    if (!isDirectory(path)) throw error
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
