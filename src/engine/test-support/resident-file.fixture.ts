import { readFile } from 'node:fs/promises'

/** How much of a file is in this process's memory. */
export async function residentKiB(file: string): Promise<number> {
  const parts = (await readFile('/proc/self/smaps', 'utf8')).split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
  const own = parts.filter((part) => part.split('\n', 1)[0]?.endsWith(file))
  return own.reduce((sum, part) => sum + Number(/^Rss:\s+(\d+) kB$/m.exec(part)?.[1] ?? 0), 0)
}
