import { closeSync, constants, mkdirSync, openSync } from 'node:fs'

/** O_PATH, which Node does not define: opens the folder itself without access to its content. */
const pathOnly = 0x200000
const onlyFolder = pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * Makes the folders of a path below `root`, which contains no links itself. Others may change things there meanwhile,
 * so each folder is made relative to the opened one before, and no link is followed: nothing is ever made outside.
 */
export function makeInside(root: string, path: string): void {
  let folder = openSync(root, onlyFolder)
  try {
    for (const name of path.split('/').filter((part) => part !== '' && part !== '.')) {
      const next = `/proc/self/fd/${folder}/${name}`
      try {
        mkdirSync(next)
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      }
      const opened = openSync(next, onlyFolder)
      closeSync(folder)
      folder = opened
    }
  } finally {
    closeSync(folder)
  }
}
