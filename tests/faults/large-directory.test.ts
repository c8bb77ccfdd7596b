import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { eventKind } from '../../src/resources/event.ts'
import { podKind } from '../../src/resources/pod.ts'
import { makeLargeDirectory } from '../support/large-directory.ts'
import { until } from '../support/sluice-process.ts'

const main = join(import.meta.dirname, '../../bin/sluice.mjs')
const ports = ['management', 'control-plane', 'gateway', 'exposure'].flatMap((name) => [`--${name}-port`, '0'])
const size = { pods: 500, events: 25_000 }
/**
 * A start reads the newest 10,000 Events, and then the oldest are removed until a namespace has 4,000. These stay in
 * any case.
 */
const newestNumbers = Array.from({ length: 3_900 }, (_, index) => size.events - 1 - index)
const mebibytes = 1024

describe('a data directory into which somebody flooded Events', () => {
  let data: string
  let child: ChildProcess | undefined
  beforeEach(() => void (data = mkdtempSync(join(tmpdir(), 'sluice-large-'))))
  afterEach(async () => {
    if (child && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(data, { recursive: true, force: true })
  })

  it('starts, in bounded memory, with every Pod and the newest Events', async () => {
    makeLargeDirectory(data, { ...size, at: new Date() })
    const up = (child = spawn(process.execPath, [main, 'up', '--data', data, '--no-demo-model', ...ports], {
      stdio: ['ignore', 'ignore', 'inherit'],
    }))
    await until('endpoints.json', 60_000, () => {
      if (up.exitCode !== null) throw new Error(`sluice up ended with ${up.exitCode}`)
      return existsSync(join(data, 'endpoints.json'))
    })
    const client = await connectKubernetes(join(data, 'kubeconfig'))
    const pods = await client.list(podKind, { namespace: 'many' })
    const events = await client.list(eventKind, { namespace: 'many' })
    client.close()
    expect(pods.items).toHaveLength(size.pods)
    expect(events.items.length).toBeLessThanOrEqual(10_000)
    const numbers = new Set(events.items.map(({ metadata }) => Number(metadata.name.split('.')[1])))
    expect(newestNumbers.filter((number) => !numbers.has(number))).toEqual([])
    expect(numbers.has(0)).toBe(false)
    const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${up.pid}/status`, 'utf8'))?.[1])
    expect(peak).toBeLessThan(400 * mebibytes)
    up.kill('SIGTERM')
    expect(await once(up, 'exit')).toEqual([0, null])
  })
})
