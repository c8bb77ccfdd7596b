import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile, readdir, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { VolumeFiles } from './volume-files.ts'

const dataLink = '..data'

/**
 * Makes a folder hold exactly these files, so that a reader sees either all the old ones or all the new ones: the files are in a
 * folder of their own, and one rename of the link `..data` publishes it. The names people use are links through it. Returns
 * whether anything had to be changed.
 */
export async function publishFiles(folder: string, files: VolumeFiles): Promise<boolean> {
  await mkdir(folder, { recursive: true, mode: 0o755 })
  const current = await readlink(join(folder, dataLink)).catch(() => undefined)
  if (current !== undefined && (await holdsExactly(join(folder, current), files))) return false
  const version = `..${new Date().toISOString().replaceAll(/[-:]/g, '_')}.${randomBytes(4).toString('hex')}`
  for (const [path, { data, mode }] of files) {
    const target = join(folder, version, path)
    await mkdir(dirname(target), { recursive: true, mode: 0o755 })
    await writeFile(target, data, { mode: 0o600 })
    await chmod(target, mode)
  }
  await mkdir(join(folder, version), { recursive: true, mode: 0o755 })
  await symlink(version, join(folder, '..data_tmp')).catch(async () => {
    // Left by a run that was killed right here.
    await rm(join(folder, '..data_tmp'), { force: true })
    await symlink(version, join(folder, '..data_tmp'))
  })
  await rename(join(folder, '..data_tmp'), join(folder, dataLink))
  await linkNames(folder, new Set([...files.keys()].map((path) => path.split('/')[0] ?? path)))
  for (const name of await readdir(folder)) {
    if (name.startsWith('..') && name !== dataLink && name !== version) {
      await rm(join(folder, name), { recursive: true, force: true })
    }
  }
  return true
}

async function linkNames(folder: string, names: ReadonlySet<string>): Promise<void> {
  const present = await readdir(folder)
  for (const name of present) {
    if (!name.startsWith('..') && !names.has(name)) await rm(join(folder, name), { recursive: true, force: true })
  }
  for (const name of names) {
    if (!present.includes(name)) await symlink(join(dataLink, name), join(folder, name))
  }
}

async function holdsExactly(folder: string, files: VolumeFiles): Promise<boolean> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    if (entries.filter((entry) => entry.isFile()).length !== files.size) return false
    for (const [path, { data, mode }] of files) {
      const target = join(folder, path)
      if (((await stat(target)).mode & 0o777) !== mode || !data.equals(await readFile(target))) return false
    }
    return true
  } catch {
    return false
  }
}
