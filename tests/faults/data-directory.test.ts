import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { until } from '../support/sluice-process.ts'

const main = join(import.meta.dirname, '../../bin/sluice.mjs')
const ports = ['management', 'control-plane', 'gateway', 'exposure'].flatMap((name) => [`--${name}-port`, '0'])

describe('two `sluice up` on one data directory', () => {
  let data: string
  const children: ChildProcess[] = []
  beforeEach(() => void (data = mkdtempSync(join(tmpdir(), 'sluice-twice-'))))
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(data, { recursive: true, force: true })
  })

  function up(): { child: ChildProcess; output: () => string } {
    const child = spawn(process.execPath, [main, 'up', '--data', data, '--no-demo-model', ...ports], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    return { child, output: () => output }
  }

  const ready = (started: ReturnType<typeof up>) =>
    until('endpoints.json', 60_000, () => {
      if (started.child.exitCode !== null) throw new Error(`sluice up ended:\n${started.output()}`)
      const path = join(data, 'endpoints.json')
      return existsSync(path) && (JSON.parse(readFileSync(path, 'utf8')) as { pid: number }).pid === started.child.pid
    })

  it('the second is refused with the pid of the first; after the first was killed, another has all of it again', async () => {
    const first = up()
    await ready(first)
    const client = await connectKubernetes(join(data, 'kubeconfig'))
    const metadata = { name: 'kept', namespace: 'default' }
    const { metadata: written } = await client.create(configMapKind, { metadata, data: { k: 'v' } })
    client.close()

    const second = up()
    const [code] = (await once(second.child, 'exit')) as [number]
    expect(code).not.toBe(0)
    expect(second.output()).toContain(`process ${first.child.pid}`)
    expect(second.output().trim().split('\n')).toHaveLength(1)

    first.child.kill('SIGKILL')
    await once(first.child, 'exit')
    expect(existsSync(join(data, 'pid'))).toBe(true)
    const third = up()
    await ready(third)
    const again = await connectKubernetes(join(data, 'kubeconfig'))
    const kept = await again.get(configMapKind, metadata)
    again.close()
    expect(kept?.metadata).toMatchObject({ uid: written.uid, resourceVersion: written.resourceVersion })
    third.child.kill('SIGTERM')
    expect(await once(third.child, 'exit')).toEqual([0, null])
    expect(existsSync(join(data, 'endpoints.json'))).toBe(false)
  })
})
