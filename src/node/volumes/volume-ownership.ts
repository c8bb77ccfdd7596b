import { chmodSync, chownSync, closeSync, constants, fstatSync, lchownSync, openSync, opendirSync } from 'node:fs'

const setGroupOnFolder = 0o2000
const forFolders = 0o110
/** Not in Node's table: opens the file itself, whatever it is, without asking for anything in it. */
const pathOnly = 0x200000
/** Deeper than any path can be, unless somebody moves folders about meanwhile. */
const deepest = 2048

export interface VolumeOwner {
  readonly gid: number
  /** Files are for reading only. */
  readonly readOnly?: boolean
  /** Whether a volume whose root is right already is left as it is. */
  readonly onlyOnMismatch?: boolean
}

/** Whether nothing is to be done: the root is given last, so that all in it is given where that is. */
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
 * Gives everything in a volume to a group, as the kubelet does, one file a step: the group may read and write it, and
 * what is made in its folders belongs to the group, too. Whoever writes to the volume meanwhile leads this nowhere
 * else: each file is reached by way of the folder that was opened, and no link is followed.
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
      // By way of the descriptor: it is this very file, whatever has its name by now.
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

/** `undefined`: gone meanwhile. */
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
