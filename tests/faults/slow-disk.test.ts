import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ClusterClient } from '../../src/cluster/cluster-client.ts'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { until } from '../support/sluice-process.ts'
import { makeSlowDisk, noSlowDisk } from './slow-disk.fixture.ts'

const main = join(import.meta.dirname, '../../bin/sluice.mjs')
const ports = ['management', 'control-plane', 'gateway', 'exposure'].flatMap((name) => [`--${name}-port`, '0'])
const namespace = 'default'

describe.skipIf(noSlowDisk !== undefined)(`a disk whose sync takes 2 s${noSlowDisk ? ` (${noSlowDisk})` : ''}`, () => {
  let folder: string
  let child: ChildProcess | undefined
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'sluice-slow-'))))
  afterEach(async () => {
    if (child && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  })

  const write = (client: ClusterClient, name: string) =>
    client.create(configMapKind, { metadata: { name, namespace }, data: { k: name } })

  it('lets the API go on answering reads while writes wait, and the writes come back', async () => {
    const disk = makeSlowDisk(folder)
    const data = join(folder, 'data')
    let output = ''
    const up = (child = spawn(process.execPath, [main, 'up', '--data', data, '--no-demo-model', ...ports], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...disk.env },
    }))
    for (const stream of [up.stdout, up.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text))
    await until('endpoints.json', 60_000, () => {
      if (up.exitCode !== null) throw new Error(`sluice up ended:\n${output}`)
      return existsSync(join(data, 'endpoints.json'))
    })
    const client = await connectKubernetes(join(data, 'kubeconfig'))
    await write(client, 'before')
    const syncs = disk.syncs()
    expect(syncs).toBeGreaterThan(0)

    disk.setSyncMs(2_000)
    const done = { writes: 0 }
    const writing = ['a', 'b', 'c'].map((name) => write(client, name).finally(() => (done.writes += 1)))
    // A loop that waits for the disk would answer none of these before a write is done.
    let reads = 0
    while (done.writes === 0) {
      const [one, list] = await Promise.all([
        client.get(configMapKind, { name: 'before', namespace }),
        client.list(configMapKind, { namespace }),
      ])
      expect([one?.metadata.name, list.items.length > 0]).toEqual(['before', true])
      reads += 1
    }
    const written = await Promise.all(writing)
    expect(reads).toBeGreaterThanOrEqual(5)
    expect(disk.syncs()).toBeGreaterThan(syncs)
    const again = await client.list(configMapKind, { namespace })
    expect(again.items.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(['a', 'b', 'c']))
    expect(new Set(written.map(({ metadata }) => metadata.resourceVersion)).size).toBe(3)
    client.close()

    disk.setSyncMs(0)
    up.kill('SIGTERM')
    expect(await once(up, 'exit')).toEqual([0, null])
  })
})
