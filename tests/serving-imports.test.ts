import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../src', import.meta.url))

/** Every file that a file loads, including itself. Type imports do not load anything. */
function loaded(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  if (!existsSync(file)) return seen
  const text = readFileSync(file, 'utf8')
  for (const [, from = ''] of text.matchAll(/^(?:import|export) (?!type )[^']*?from '([^']+)'/gm)) {
    loaded(from.startsWith('.') ? resolve(dirname(file), from) : from, seen)
  }
  return seen
}

const roomsOf = (program: string) =>
  [...loaded(join(src, program))].map((file) => (file.startsWith(src) ? relative(src, file) : file))

describe('what a thread loads is memory of every idle cluster', () => {
  it('is in a serving thread no description of kinds and nothing of the control plane', () => {
    const files = roomsOf('platform/serving/serving-program.ts')
    expect(files).toContain('gateway/gateway.ts')
    const rooms = /^(?:apiserver|store|node|workloads|operator|autoscaler|management|engine|cluster)\//
    expect(files.filter((file) => rooms.test(file))).toEqual([])
    const packages = files.filter((file) => !file.includes('/') && !file.startsWith('node:'))
    expect(packages.sort()).toEqual(['pino', 'prom-client'])
  })

  it('is in the main thread no gateway, no relay and no edge', () => {
    const files = roomsOf('platform/up.ts')
    expect(files).toContain('platform/serving/serving-threads.ts')
    const served = ['gateway/gateway.ts', 'exposure/edge/exposure-edge.ts', 'relay/relay-server.ts']
    expect(files.filter((file) => served.includes(file))).toEqual([])
  })
})
