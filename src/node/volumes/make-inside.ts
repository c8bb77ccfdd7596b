import { closeSync, constants, mkdirSync, openSync } from 'node:fs'

/** Not in Node's table: opens the folder itself, without asking for anything in it. */
const pathOnly = 0x200000
const onlyFolder = pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * Makes the folders of a path below `root`, which has no links in it. Others may write there meanwhile: each folder is
 * made in the one that was opened before, and none is entered by a link, so that nothing is ever made elsewhere on the
 * machine.
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
