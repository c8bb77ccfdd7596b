import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { SluiceError } from '../../foundation/errors.ts'
import { removeFolder } from '../../node/volumes/remove-folder.ts'
import { clusterIdPattern } from '../../resources/cluster.ts'
import type { DataFolder } from '../data/data-directory.ts'
import { newClusterId } from '../data/identity.ts'
import { type ClusterRecord, clusterRecordFile, clustersFolder, parseClusterRecord } from './cluster-record.ts'

/** Marks folders that are to be removed. No cluster's ID begins with a dot. */
const removed = '.removed-'

/** The folder of a further cluster, with the record that tells which cluster it is. */
export interface ClusterFolder extends ClusterRecord {
  readonly folder: DataFolder
}

/**
 * `clusters/<id>/`: the data of all embedded clusters except the home cluster. Deleted clusters keep theirs until
 * purged.
 */
export class ClusterFolders {
  readonly #root: DataFolder

  constructor(directory: DataFolder) {
    this.#root = directory.within(clustersFolder)
  }

  /**
   * Finds the data of the Cluster of this name, even after the Cluster was deleted, but not if it belongs to another
   * enterprise. Throws if there is none, but a record that cannot be read might be it.
   */
  find(name: string, enterprise: string): ClusterFolder | undefined {
    const { records, unreadable } = this.#all()
    const found = records.find((record) => record.name === name && record.enterprise === enterprise)
    if (!found && unreadable) throw unreadable
    return found
  }

  /** The folders of all clusters whose record can be read, by ID. */
  get roots(): ReadonlyMap<string, string> {
    return new Map(this.#all().records.map(({ id, folder }) => [id, folder.root]))
  }

  /** Makes a folder with an ID that cannot be guessed. The record is stored before anything else is made. */
  make(name: string, enterprise: string): ClusterFolder {
    const id = newClusterId()
    const record = { id, name, enterprise, adminToken: randomBytes(32).toString('base64url') }
    const folder = this.#root.within(id)
    folder.write(clusterRecordFile, `${JSON.stringify(record, null, 2)}\n`)
    return { ...record, folder }
  }

  /** Renames the folder in one step before removing it, so that a new Cluster of the same name begins with nothing. */
  async purge({ id }: Pick<ClusterFolder, 'id'>): Promise<void> {
    const place = this.#root.path(id)
    if (existsSync(place)) renameSync(place, this.#root.path(`${removed}${id}-${randomBytes(4).toString('hex')}`))
    await this.sweep()
  }

  /** Removes what an interrupted removal has left. */
  async sweep(): Promise<void> {
    const left = readdirSync(this.#root.root).filter((name) => name.startsWith(removed))
    for (const name of left) await removeFolder(join(this.#root.root, name))
  }

  #all(): { readonly records: readonly ClusterFolder[]; readonly unreadable: SluiceError | undefined } {
    const records: ClusterFolder[] = []
    let unreadable: SluiceError | undefined
    for (const id of readdirSync(this.#root.root).filter((name) => clusterIdPattern.test(name))) {
      const folder = this.#root.within(id)
      const text = folder.read(clusterRecordFile)
      const record = text === undefined ? undefined : parseClusterRecord(text)
      if (record) records.push({ ...record, folder })
      else if (text !== undefined)
        unreadable = new SluiceError('data_file_unreadable', { path: folder.path(clusterRecordFile) })
    }
    return { records, unreadable }
  }
}
