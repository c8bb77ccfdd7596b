import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const modules = fileURLToPath(new URL('../node_modules', import.meta.url))

function bytesBelow(path: string, seen: Set<number>): number {
  const facts = lstatSync(path)
  if (facts.isDirectory()) return readdirSync(path).reduce((sum, name) => sum + bytesBelow(join(path, name), seen), 0)
  // The pinned Node is linked twice but takes its space only once.
  if (facts.nlink > 1 && seen.has(facts.ino)) return 0
  seen.add(facts.ino)
  return facts.size
}

it('the whole install stays under 400 MB', () => {
  const seen = new Set<number>()
  // Names with a dot are caches that tools make while they run.
  const packages = readdirSync(modules).filter((name) => !name.startsWith('.'))
  const bytes = packages.reduce((sum, name) => sum + bytesBelow(join(modules, name), seen), 0)
  expect(bytes / 1e6).toBeLessThan(400)
})
