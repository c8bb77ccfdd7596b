import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { furtherStores } from '../doctor/further-stores.ts'

export const homeStoreFile = 'sluice.db'

/** The stores in a data directory, by their paths inside it: the home cluster's, and those of further clusters. */
export function storeFiles(directory: string): readonly string[] {
  const further = furtherStores(directory).map(({ file }) => relative(directory, file))
  return [homeStoreFile, ...further].filter((file) => existsSync(join(directory, file)))
}
