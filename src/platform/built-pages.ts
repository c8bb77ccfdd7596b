import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the pages are when they are built, as they are in every package and image. */
export const chatPageDirectory = fileURLToPath(new URL('../../web/dist', import.meta.url))
export const consolePageDirectory = fileURLToPath(new URL('../../web/console/dist', import.meta.url))

/** Said to people who start a checkout of the sources without `npm start`: the addresses of the pages lead nowhere. */
export function pageNotes(directories: readonly string[] = [chatPageDirectory, consolePageDirectory]): string[] {
  if (directories.every((directory) => existsSync(join(directory, 'index.html')))) return []
  return ['The chat page and the console are not built yet: `npm start` builds them, and starts this.']
}
