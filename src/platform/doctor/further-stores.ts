import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { clusterIdPattern } from '../../resources/cluster.ts'
import { clusterRecordFile, clustersFolder, parseClusterRecord } from '../clusters/cluster-record.ts'

/** The store of an embedded cluster beside the home cluster. */
export interface FurtherStore {
  readonly id: string
  /** Of the Cluster whose it is, or was before it was deleted; nothing where its record cannot be read. */
  readonly name: string | undefined
  readonly file: string
}

/** Those below a data directory, by name; nothing is made or changed. An attached cluster has no store here. */
export function furtherStores(directory: string): readonly FurtherStore[] {
  const root = join(directory, clustersFolder)
  if (!existsSync(root)) return []
  const stores = readdirSync(root)
    .filter((id) => clusterIdPattern.test(id) && existsSync(join(root, id, clusterRecordFile)))
    .map((id) => ({ id, name: nameIn(join(root, id)), file: join(root, id, 'sluice.db') }))
  return stores
    .filter(({ name, file }) => name === undefined || existsSync(file))
    .toSorted((one, other) => (one.name ?? one.id).localeCompare(other.name ?? other.id))
}

function nameIn(folder: string): string | undefined {
  try {
    return parseClusterRecord(readFileSync(join(folder, clusterRecordFile), 'utf8'))?.name
  } catch {
    return undefined
  }
}
