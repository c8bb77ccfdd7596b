import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { SluiceError } from '../../foundation/errors.ts'
import { removeFolder } from '../../node/volumes/remove-folder.ts'
import { clusterIdPattern } from '../../resources/cluster.ts'
import type { DataFolder } from '../data/data-directory.ts'
import { newClusterId } from '../data/identity.ts'
import { type ClusterRecord, clusterRecordFile, clustersFolder, parseClusterRecord } from './cluster-record.ts'

/** No cluster's ID begins with a dot. */
const removed = '.removed-'

/** Where a further cluster keeps everything, and by what it is known. */
export interface ClusterFolder extends ClusterRecord {
  readonly folder: DataFolder
}

/** `clusters/<id>/`: the data of every embedded cluster but the home cluster, also of those that were deleted. */
export class ClusterFolders {
  readonly #root: DataFolder

  constructor(directory: DataFolder) {
    this.#root = directory.within(clustersFolder)
  }

  /**
   * What the Cluster of this name has, or had before it was deleted; another enterprise's is not taken up. Throws when it
   * is not there and one that cannot be read might be it.
   */
  find(name: string, enterprise: string): ClusterFolder | undefined {
    const { records, unreadable } = this.#all()
    const found = records.find((record) => record.name === name && record.enterprise === enterprise)
    if (!found && unreadable) throw unreadable
    return found
  }

  /** Of all that can be read: where each keeps its data. */
  get roots(): ReadonlyMap<string, string> {
    return new Map(this.#all().records.map(({ id, folder }) => [id, folder.root]))
  }

  /** With an ID that nobody guesses, kept before anything is made of it. */
  make(name: string, enterprise: string): ClusterFolder {
    const id = newClusterId()
    const record = { id, name, enterprise, adminToken: randomBytes(32).toString('base64url') }
    const folder = this.#root.within(id)
    folder.write(clusterRecordFile, `${JSON.stringify(record, null, 2)}\n`)
    return { ...record, folder }
  }

  /** Moved away in one step first: whoever makes a Cluster of the name again begins with nothing. */
  async purge({ id }: Pick<ClusterFolder, 'id'>): Promise<void> {
    const place = this.#root.path(id)
    if (existsSync(place)) renameSync(place, this.#root.path(`${removed}${id}-${randomBytes(4).toString('hex')}`))
    await this.sweep()
  }

  /** Removes what a removal that was killed has left. */
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
