import { constants } from 'node:fs'
import { type FileHandle, chmod, chown, lchown, open, opendir } from 'node:fs/promises'

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

/**
 * Gives everything in a volume to a group, as the kubelet does: the group may read and write it, and what is made in its folders
 * belongs to the group, too. Whoever writes to the volume meanwhile leads this nowhere else: each file is reached by way of the
 * folder that was opened, and no link is followed.
 */
export async function giveToGroup(folder: string, owner: VolumeOwner): Promise<void> {
  await using root = await open(folder, pathOnly | constants.O_NOFOLLOW)
  const { gid, mode } = await root.stat()
  if (
    owner.onlyOnMismatch === true &&
    gid === owner.gid &&
    (mode & wantedBits(owner, true)) === wantedBits(owner, true)
  ) {
    return
  }
  await give(root, folder, owner, 0)
}

async function give(file: FileHandle, path: string, owner: VolumeOwner, depth: number): Promise<void> {
  const here = `/proc/self/fd/${file.fd}`
  const facts = await file.stat()
  if (facts.isSymbolicLink()) return lchown(path, -1, owner.gid)
  // By way of the descriptor: it is this very file, whatever has its name by now.
  await chown(here, -1, owner.gid)
  await chmod(here, (facts.mode & 0o7777) | wantedBits(owner, facts.isDirectory()))
  if (!facts.isDirectory() || depth > deepest) return
  for await (const entry of await opendir(here)) {
    const child = `${here}/${entry.name}`
    const opened = await open(child, pathOnly | constants.O_NOFOLLOW).catch(() => undefined)
    // Gone meanwhile.
    if (!opened) continue
    await using handle = opened
    await give(handle, child, owner, depth + 1)
  }
}

function wantedBits({ readOnly }: VolumeOwner, isFolder: boolean): number {
  const bits = readOnly === true ? 0o440 : 0o660
  return isFolder ? bits | forFolders | setGroupOnFolder : bits
}
