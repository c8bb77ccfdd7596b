import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type Socket, createConnection } from 'node:net'
import { basename, dirname, join, resolve } from 'node:path'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { copyDatabaseFile } from '../../store/sqlite-file/copy-database.ts'
import { clusterRecordFile } from '../clusters/cluster-record.ts'
import { lockUnused } from '../data/data-directory.ts'
import { version } from '../version.ts'
import { type ArchivePart, type ReadProgress, writeArchive } from './archive.ts'
import { type BackupManifest, backupFormat, manifestFile } from './backup-manifest.ts'
import { openCopySocket, parseReply } from './copy-socket.ts'
import { withoutToken } from './admin-token.ts'
import { homeStoreFile, storeFiles } from './store-files.ts'

export interface BackupOptions {
  readonly data: string
  readonly file: string
  readonly keys: boolean
  readonly claims: boolean
  readonly now: number
  readonly onRead?: ReadProgress | undefined
}

export interface BackupFacts {
  readonly file: string
  readonly bytes: number
  readonly clusters: number
  /** Whether a Sluice used the directory meanwhile. */
  readonly wasRunning: boolean
  /** Files of claims that changed while they were read. */
  readonly changed: string
}

/** Copies of stores; they go when it is closed. */
interface Copies {
  readonly folder: string
  readonly wasRunning: boolean
  close(): void
}

/** Longer than a copy of the largest store takes on a slow disk. */
const copyDeadlineMs = 10 * 60_000
const longestReply = 16_384
/** Beside the stores, what a cluster is made of. Everything else is made anew, or is not worth keeping. */
const clusterFiles = ['identity.json', 'credentials.json', clusterRecordFile]
const keyFolder = 'pki'
const claimFolder = 'volumes'

/** Puts everything that cannot be had again into one file, of a Sluice that runs or not. */
export async function makeBackup(options: BackupOptions): Promise<BackupFacts> {
  const data = resolve(options.data)
  const file = resolve(options.file)
  if (!existsSync(join(data, homeStoreFile))) throw new SluiceError('no_data_directory', { path: data })
  if (existsSync(file)) throw new SluiceError('backup_failed', { reason: `${file} is there already.` })
  const workplace = openWorkplace(file)
  try {
    const copies = (await copiesOfRunning(data)) ?? (await copiesOfUnused(data, join(workplace, 'stores')))
    try {
      const stores = storeFiles(data).filter((store) => existsSync(join(copies.folder, store)))
      const clusters = stores.map((store) => dirname(store))
      const staged = join(workplace, 'staged')
      stage(staged, { ...options, data }, clusters)
      const claims = options.claims ? clusters.map((cluster) => join(cluster, claimFolder)) : []
      const parts: ArchivePart[] = [
        { folder: staged, names: readdirSync(staged) },
        { folder: copies.folder, names: stores },
        { folder: data, names: claims.filter((path) => existsSync(join(data, path))) },
      ]
      const archive = join(workplace, basename(file))
      const { isWhole, said } = await writeArchive(archive, parts, options.onRead)
      if (!isWhole) throw new SluiceError('backup_failed', { reason: said })
      // The stores contain Secrets, whatever was left out.
      chmodSync(archive, 0o600)
      renameSync(archive, file)
      const { wasRunning } = copies
      return { file, bytes: statSync(file).size, clusters: stores.length, wasRunning, changed: said }
    } finally {
      copies.close()
    }
  } finally {
    rmSync(workplace, { recursive: true, force: true })
  }
}

/** Beside the file, so that it only has to be renamed when it is whole. */
function openWorkplace(file: string): string {
  try {
    return mkdtempSync(join(dirname(file), '.sluice-backup-'))
  } catch (error) {
    throw new SluiceError('backup_failed', { reason: `${dirname(file)} cannot be written to: ${errorMessage(error)}` })
  }
}

/** `undefined` where nobody listens: no Sluice uses the directory, or one of a version without backups. */
async function copiesOfRunning(data: string): Promise<Copies | undefined> {
  const socket = openCopySocket(data)
  const connection = createConnection({ path: socket.path })
  connection.setTimeout(copyDeadlineMs, () => connection.destroy(new Error('it does not answer')))
  try {
    const reply = parseReply(await firstLine(connection))
    if ('error' in reply) throw new SluiceError('backup_failed', { reason: reply.error })
    connection.setTimeout(0)
    return { folder: reply.folder, wasRunning: true, close: () => connection.destroy() }
  } catch (error) {
    connection.destroy()
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return undefined
    if (error instanceof SluiceError) throw error
    throw new SluiceError('backup_failed', { reason: `of the Sluice that uses ${data}: ${errorMessage(error)}` })
  } finally {
    socket.close()
  }
}

function firstLine(connection: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    connection.on('error', reject)
    connection.on('close', () => reject(new Error('it was stopped meanwhile')))
    connection.setEncoding('utf8').on('data', (piece: string) => {
      text = (text + piece).slice(0, longestReply)
      const end = text.indexOf('\n')
      if (end >= 0) resolve(text.slice(0, end))
      else if (text.length === longestReply) reject(new Error('it answers with too much'))
    })
  })
}

async function copiesOfUnused(data: string, folder: string): Promise<Copies> {
  const release = lockUnused(data)
  try {
    for (const file of storeFiles(data)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      await copyDatabaseFile(join(data, file), join(folder, file))
    }
    return { folder, wasRunning: false, close: release }
  } catch (error) {
    release()
    throw error
  }
}

function stage(folder: string, { data, keys, claims, now }: BackupOptions, clusters: readonly string[]): void {
  for (const cluster of clusters) {
    mkdirSync(join(folder, cluster), { recursive: true, mode: 0o700 })
    for (const file of clusterFiles) {
      const from = join(data, cluster, file)
      if (!existsSync(from)) continue
      if (keys) copyFileSync(from, join(folder, cluster, file))
      else if (file !== 'credentials.json')
        writeFileSync(join(folder, cluster, file), withoutToken(readFileSync(from, 'utf8')))
    }
    if (keys) copyKeys(join(data, cluster, keyFolder), join(folder, cluster, keyFolder))
  }
  const manifest: BackupManifest = {
    format: backupFormat,
    sluice: version,
    madeAt: new Date(now).toISOString(),
    keys,
    claims,
  }
  writeFileSync(join(folder, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`)
}

function copyKeys(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(from)) copyFileSync(join(from, name), join(to, name))
}
