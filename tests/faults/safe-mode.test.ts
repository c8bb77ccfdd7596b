import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { podKind } from '../../src/resources/pod.ts'
import { runProgram } from '../support/programs.ts'
import { SluiceProcess, killIfThere, podProcesses, processesMentioning, until } from '../support/sluice-process.ts'

const data = mkdtempSync(join(tmpdir(), 'sluice-safe-mode-'))
const main = join(import.meta.dirname, '../../src/cli/main.ts')
const flags = ['--no-demo-model', '--no-gateway']
const namespace = 'default'
let sluice: SluiceProcess | undefined

afterAll(() => {
  sluice?.destroy()
  for (const pid of new Set([...processesMentioning(data), ...podProcesses(data)])) killIfThere(pid)
  rmSync(data, { recursive: true, force: true })
})

const start = async () => (sluice = await SluiceProcess.start(data, flags))

describe('a directory whose starts crash', () => {
  it('is served without starting anything the third time, says what was found, and starts again as usual after that', async () => {
    const first = await start()
    const client = await connectKubernetes(first.kubeconfig)
    const image = `${first.endpoints.registry}/sluice/sluice:1`
    const containers = [{ name: 'main', image, command: ['/bin/sh', '-c', 'exec sleep 100000'] }]
    await client.create(podKind, { metadata: { name: 'early', namespace }, spec: { containers } })
    client.close()
    for (let crash = 0; crash < 2; crash += 1) {
      const crashing = sluice ?? (await start())
      await crashing.killHard()
      sluice = undefined
    }
    expect(JSON.parse(readFileSync(join(data, 'starts.json'), 'utf8'))).toMatchObject({ crashes: 2 })

    const looked = await runProgram(process.execPath, [main, 'doctor', '--data', data])
    expect(looked.code).toBe(1)
    expect(looked.stdout).toContain('The last 2 starts crashed')

    const safe = await start()
    expect(safe.output).toContain('SAFE MODE, because the last 2 starts crashed')
    const careful = await connectKubernetes(safe.kubeconfig)
    await careful.create(podKind, { metadata: { name: 'late', namespace }, spec: { containers } })
    // What runs continues and can be deleted, but nothing new is started.
    await careful.delete(podKind, { namespace, name: 'early' })
    expect((await careful.get(podKind, { namespace, name: 'late' }))?.spec.nodeName).toBeUndefined()
    careful.close()
    await safe.stop()
    expect(existsSync(join(data, 'starts.json'))).toBe(false)

    const usual = await start()
    expect(usual.output).not.toContain('SAFE MODE')
    const again = await connectKubernetes(usual.kubeconfig)
    await until('the late Pod to run and the early one to go', 60_000, async () => {
      const { items } = await again.list(podKind, { namespace })
      return items.length === 1 && items[0]?.metadata.name === 'late' && items[0].status?.phase === 'Running'
    })
    again.close()
    await usual.stop()
  })

  it('is left alone by a start that is refused for another reason', async () => {
    writeFileSync(join(data, 'config.json'), '{"images": 7}')
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const refused = await runProgram(process.execPath, [
        main,
        'up',
        '--data',
        data,
        '--config',
        join(data, 'config.json'),
      ])
      expect(refused.code).not.toBe(0)
    }
    expect(existsSync(join(data, 'starts.json'))).toBe(false)
  })
})
