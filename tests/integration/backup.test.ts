import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { runProgram } from '../support/programs.ts'
import { SluiceProcess } from '../support/sluice-process.ts'

const program = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const sluice = (...words: string[]) => runProgram(process.execPath, [program, ...words])

describe('a backup of a Sluice that runs', () => {
  let root: string
  let running: SluiceProcess | undefined

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'sluice-backup-'))
    running = await SluiceProcess.start(join(root, 'data'), ['--no-demo-model'])
  })
  afterAll(async () => {
    await running?.stop()
    rmSync(root, { recursive: true, force: true })
  })

  it('is another Sluice elsewhere that everybody can go on with', async () => {
    const first = join(root, 'data')
    const [file, second] = [join(root, 'sluice.tar.gz'), join(root, 'restored')]
    const key = (await sluice('key', 'create', 'mine', '--data', first)).stdout.trim()
    const client = await connectKubernetes(join(first, 'kubeconfig'))
    const ref = { namespace: 'default', name: 'words' }
    await client.create(configMapKind, { metadata: ref, data: { said: 'before' } })
    expect(await sluice('backup', file, '--data', first)).toMatchObject({
      stdout: expect.stringMatching(/: 1 cluster, .* copied while it ran\.\n$/),
    })
    await client.patch(configMapKind, ref, { data: { said: 'after' } })
    client.close()
    const token = readFileSync(join(first, 'identity.json'), 'utf8')
    await running?.stop()

    expect((await sluice('restore', file, '--data', second)).stdout).toContain(`sluice up --data ${second}`)
    running = await SluiceProcess.start(second, ['--no-demo-model', '--require-api-keys'])
    expect(readFileSync(join(second, 'identity.json'), 'utf8')).toBe(token)
    const again = await connectKubernetes(running.kubeconfig)
    expect((await again.get(configMapKind, ref))?.['data']).toEqual({ said: 'before' })
    again.close()
    const ask = (bearer: string) =>
      fetch(`${running?.endpoints.gateway}/openai/v1/models`, { headers: { authorization: `Bearer ${bearer}` } })
    expect([(await ask(key)).status, (await ask('sk-wrong')).status]).toEqual([200, 401])
  })
})
