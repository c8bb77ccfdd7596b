import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { StoreSurvey } from '../../store/sqlite-file/store-survey.ts'
import { clusterRecordFile } from '../clusters/cluster-record.ts'
import { withToken } from './admin-token.ts'
import { type ReadProgress, readArchive } from './archive.ts'
import { type BackupManifest, backupFormat, manifestFile, parseManifest } from './backup-manifest.ts'
import { homeStoreFile, storeFiles } from './store-files.ts'

export interface RestoreFacts extends BackupManifest {
  readonly directory: string
  readonly clusters: number
}

/** Makes a data directory of a backup. It is there when it is whole, or not at all. */
export async function restoreBackup(file: string, data: string, onRead?: ReadProgress): Promise<RestoreFacts> {
  const archive = resolve(file)
  const directory = resolve(data)
  if (!existsSync(archive)) throw new SluiceError('backup_unreadable', { path: archive, reason: 'it does not exist.' })
  refuseUsed(directory)
  const half = `${directory}.restoring-${randomBytes(4).toString('hex')}`
  try {
    mkdirSync(half, { recursive: true, mode: 0o700 })
    const { isWhole, said } = await readArchive(archive, half, onRead)
    if (!isWhole) throw new SluiceError('backup_unreadable', { path: archive, reason: said })
    const manifest = check(archive, half)
    const stores = storeFiles(half)
    for (const store of stores) addToken(join(half, dirname(store)))
    rmSync(join(half, manifestFile))
    if (existsSync(directory)) rmdirSync(directory)
    renameSync(half, directory)
    return { ...manifest, directory, clusters: stores.length }
  } finally {
    rmSync(half, { recursive: true, force: true })
  }
}

function refuseUsed(directory: string): void {
  try {
    if (existsSync(directory) && readdirSync(directory).length > 0) {
      throw new SluiceError('restore_needs_room', { path: directory })
    }
  } catch (error) {
    if (error instanceof SluiceError) throw error
    throw new SluiceError('invalid_flag', { flag: '--data', reason: errorMessage(error) })
  }
}

function check(archive: string, folder: string): BackupManifest {
  const unreadable = (reason: string) => new SluiceError('backup_unreadable', { path: archive, reason })
  const path = join(folder, manifestFile)
  const manifest = existsSync(path) ? parseManifest(readFileSync(path, 'utf8')) : undefined
  if (!manifest) throw unreadable('it is no backup of Sluice.')
  if (manifest.format > backupFormat) {
    throw unreadable(`it was made by a newer version, ${manifest.sluice}. Restore it with that one.`)
  }
  const stores = storeFiles(folder)
  if (!stores.includes(homeStoreFile)) throw unreadable('it has no store.')
  // Throws where a store is damaged, or of a newer version.
  for (const store of stores) StoreSurvey.open(join(folder, store)).close()
  return manifest
}

/** A backup without keys has no tokens of administrators. All other keys are made at the first start. */
function addToken(folder: string): void {
  for (const name of ['identity.json', clusterRecordFile]) {
    const path = join(folder, name)
    if (existsSync(path)) writeFileSync(path, withToken(readFileSync(path, 'utf8')), { mode: 0o600 })
  }
}
