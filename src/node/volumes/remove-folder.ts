import { chmod, lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Removes a folder that containers wrote to. Some of its folders may be closed even to their owner, by overlayfs or by
 * programs. Root can remove them anyway; an ordinary user has to open them first.
 */
export async function removeFolder(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) throw error
    await openFolders(path)
    await rm(path, { recursive: true, force: true })
  }
}

async function openFolders(path: string): Promise<void> {
  const facts = await lstat(path).catch(() => undefined)
  if (!facts?.isDirectory()) return
  if ((facts.mode & 0o700) !== 0o700) await chmod(path, 0o700)
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await openFolders(join(path, entry.name))
  }
}
