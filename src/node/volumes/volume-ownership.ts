import { chmodSync, chownSync, closeSync, constants, fstatSync, lchownSync, openSync, opendirSync } from 'node:fs'

const setGroupOnFolder = 0o2000
const forFolders = 0o110
/** O_PATH, which Node does not define: opens the file itself, whatever it is, without access to its content. */
const pathOnly = 0x200000
/** Deeper than any path, unless somebody moves folders meanwhile. */
const deepest = 2048

export interface VolumeOwner {
  readonly gid: number
  /** Whether files are read-only. */
  readonly readOnly?: boolean
  /** Whether a volume is skipped if its root already has the group. */
  readonly onlyOnMismatch?: boolean
}

/** Whether there is nothing to do. The root is changed last, so if it is right, everything in it is. */
export function isLeftAlone(folder: string, owner: VolumeOwner): boolean {
  if (owner.onlyOnMismatch !== true) return false
  const root = openSync(folder, pathOnly | constants.O_NOFOLLOW)
  try {
    const { gid, mode } = fstatSync(root)
    return gid === owner.gid && (mode & wantedBits(owner, true)) === wantedBits(owner, true)
  } finally {
    closeSync(root)
  }
}

/**
 * Gives everything in a volume to a group as the kubelet does, one file per step: the group may read and write it, and
 * new files in its folders belong to the group, too. Each file is reached through its opened folder and no link is
 * followed, so nobody who writes there can lead this elsewhere.
 */
export function* givingToGroup(folder: string, owner: VolumeOwner): Generator<undefined, void> {
  const root = openSync(folder, pathOnly | constants.O_NOFOLLOW)
  yield* give(root, folder, owner, 0)
}

function* give(file: number, path: string, owner: VolumeOwner, depth: number): Generator<undefined, void> {
  try {
    const here = `/proc/self/fd/${file}`
    const facts = fstatSync(file)
    if (facts.isSymbolicLink()) lchownSync(path, -1, owner.gid)
    else {
      if (facts.isDirectory() && depth <= deepest) yield* giveContent(here, owner, depth)
      // Through the descriptor, so that it is this very file, whatever its name refers to by now.
      chownSync(here, -1, owner.gid)
      chmodSync(here, (facts.mode & 0o7777) | wantedBits(owner, facts.isDirectory()))
    }
  } finally {
    closeSync(file)
  }
  yield undefined
}

function* giveContent(folder: string, owner: VolumeOwner, depth: number): Generator<undefined, void> {
  const entries = opendirSync(folder)
  try {
    for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
      const path = `${folder}/${entry.name}`
      const opened = openedIfThere(path)
      if (opened !== undefined) yield* give(opened, path, owner, depth + 1)
    }
  } finally {
    entries.closeSync()
  }
}

/** `undefined` if it is gone. */
function openedIfThere(path: string): number | undefined {
  try {
    return openSync(path, pathOnly | constants.O_NOFOLLOW)
  } catch {
    return undefined
  }
}

function wantedBits({ readOnly }: VolumeOwner, isFolder: boolean): number {
  const bits = readOnly === true ? 0o440 : 0o660
  return isFolder ? bits | forFolders | setGroupOnFolder : bits
}
