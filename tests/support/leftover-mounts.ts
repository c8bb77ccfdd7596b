import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Volumes in memory are mounted in the data directory for as long as their Pods; whoever is killed leaves them there. */
export function removeMounts(data: string): void {
  const mounted = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${data}/`))
  if (mounted.length > 0) spawnSync('umount', ['--lazy', ...mounted], { stdio: 'ignore' })
}
