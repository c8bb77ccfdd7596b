import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { pathBytes, pathOf } from '../tar/archive-fault.ts'
import { resolveInside } from './root-path.ts'

/** The user that a container's program runs as. */
export interface ImageUser {
  readonly uid: number
  readonly gid: number
  /** Supplementary groups, if the image knows the user. */
  readonly groups: readonly number[]
  /** The user's home directory, if the image knows it. */
  readonly home: string | undefined
}

interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly home: string
}

const longestTable = 4 * 1024 * 1024
const highestId = 2 ** 32 - 2

/**
 * Looks up the `user` of an image's configuration in its files: `""`, `name` or `uid`, each with or without `:group` or
 * `:gid`. Names must be in `/etc/passwd`, numbers need not. `undefined` if there is no such user or group.
 */
export function findImageUser(root: string, user: string): ImageUser | undefined {
  const [userPart = '', groupPart, ...more] = user.split(':')
  if (more.length > 0) return undefined
  const wanted = userPart === '' ? '0' : userPart
  const account = accountsOf(root).find(({ name, uid }) => name === wanted || String(uid) === wanted)
  const uid = account?.uid ?? numberOf(wanted)
  if (uid === undefined) return undefined
  const groups = groupPart === undefined && !account ? [] : groupsOf(root)
  const home = account?.home
  if (groupPart !== undefined && groupPart !== '') {
    const gid = groups.find(({ name }) => name === groupPart)?.gid ?? numberOf(groupPart)
    return gid === undefined ? undefined : { uid, gid, groups: [], home }
  }
  const further = groups.filter(({ members }) => account !== undefined && members.includes(account.name))
  return { uid, gid: account?.gid ?? 0, groups: further.map(({ gid }) => gid), home }
}

function accountsOf(root: string): Account[] {
  return rowsOf(root, 'passwd').flatMap(([name = '', , uid = '', gid = '', , home = '']) => {
    const ids = { uid: numberOf(uid), gid: numberOf(gid) }
    return name === '' || ids.uid === undefined || ids.gid === undefined
      ? []
      : [{ name, uid: ids.uid, gid: ids.gid, home }]
  })
}

function groupsOf(root: string) {
  return rowsOf(root, 'group').flatMap(([name = '', , gid = '', members = '']) => {
    const id = numberOf(gid)
    return name === '' || id === undefined ? [] : [{ name, gid: id, members: members.split(',') }]
  })
}

/** Follows links only inside the root, and reads only plain files, since opening others could block. */
function rowsOf(root: string, table: string): string[][] {
  let descriptor: number
  try {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    descriptor = openSync(pathBytes(resolveInside(pathOf(root), ['etc', table])), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch {
    return []
  }
  try {
    const facts = fstatSync(descriptor)
    if (!facts.isFile() || facts.size > longestTable) return []
    const content = Buffer.alloc(facts.size)
    const count = readSync(descriptor, content, 0, content.length, 0)
    return content
      .toString('utf8', 0, count)
      .split('\n')
      .map((line) => line.split(':'))
  } finally {
    closeSync(descriptor)
  }
}

function numberOf(text: string): number | undefined {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  return value <= highestId ? value : undefined
}
