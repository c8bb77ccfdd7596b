import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Unmounts what a killed Sluice has left: volumes in memory are mounted in the data directory as long as their Pods
 * exist.
 */
export function removeMounts(data: string): void {
  const mounted = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${data}/`))
  if (mounted.length > 0) spawnSync('umount', ['--lazy', ...mounted], { stdio: 'ignore' })
}
