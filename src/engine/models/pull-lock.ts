import { randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import type { Clock } from '../../foundation/clock.ts'

const askAgainMs = 200

/** Runs `work` while no other process on this machine does the same; waits for one that does. */
export async function withPullLock<T>(
  path: string,
  clock: Clock,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const own = `${await describeProcess(process.pid)} ${randomUUID()}`
  while (!(await take(path, own))) await clock.sleep(askAgainMs, signal)
  try {
    return await work()
  } finally {
    await rm(path, { force: true })
  }
}

async function take(path: string, own: string): Promise<boolean> {
  try {
    await writeFile(path, own, { flag: 'wx' })
    return true
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  const holder = await readFile(path, 'utf8').catch(() => '')
  if (holder !== '' && !(await isAlive(holder))) await clear(path, holder)
  return false
}

/**
 * Removes the lock of a process that was killed: moves it away, and back if it turns out to belong to somebody else by
 * now.
 */
async function clear(path: string, holder: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`
  try {
    await rename(path, aside)
  } catch {
    return
  }
  if ((await readFile(aside, 'utf8').catch(() => holder)) === holder) await rm(aside, { force: true })
  else await rename(aside, path)
}

async function isAlive(holder: string): Promise<boolean> {
  const [pid = '', startedAt = ''] = holder.split(' ')
  return (await describeProcess(Number(pid))) === `${pid} ${startedAt}`
}

/** Names a process by its ID and, where it is available, its start time, since IDs are reused. */
async function describeProcess(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (stat !== undefined) return `${pid} ${stat.slice(stat.lastIndexOf(')')).split(' ')[20] ?? ''}`
  try {
    process.kill(pid, 0)
    return `${pid} running`
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM' ? `${pid} running` : `${pid} gone`
  }
}
