import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { imagesFolder } from '../../node/images/image-folders.ts'
import { ImageLibrary } from '../../node/images/image-library.ts'

export type { ImageLibrary, ImportedImage } from '../../node/images/image-library.ts'
export type { ImageRecord } from '../../node/images/image-index.ts'
export { parsePlatform } from '../../node/images/archives/image-platform.ts'
export { usualLimits } from '../../node/images/tar/unpack-budget.ts'

/** The images of a data directory, for commands that add and remove them. Sluice may be running with it or not. */
export function openImageLibrary(dataDirectory: string): ImageLibrary {
  return new ImageLibrary({ folder: imagesFolder(resolve(dataDirectory)) })
}

/** The registry that images of Pods come from, if Sluice runs with the data directory. */
export function runningRegistry(dataDirectory: string): string | undefined {
  try {
    const endpoints: unknown = JSON.parse(readFileSync(join(dataDirectory, 'endpoints.json'), 'utf8'))
    const isObject = typeof endpoints === 'object' && endpoints !== null
    return isObject && 'registry' in endpoints && typeof endpoints.registry === 'string'
      ? endpoints.registry
      : undefined
  } catch {
    return undefined
  }
}
