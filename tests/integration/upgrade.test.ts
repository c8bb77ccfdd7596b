import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClusterClient } from '../../src/cluster/cluster-client.ts'
import { connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { configMapKind } from '../../src/resources/config-map.ts'
import { modelKind } from '../../src/resources/model.ts'
import { persistentVolumeClaimKind } from '../../src/resources/persistent-volume-claim.ts'
import { secretKind } from '../../src/resources/secret.ts'
import { serviceExporterKind } from '../../src/resources/service-exporter.ts'
import { managementCredential } from '../support/management-credential.ts'
import { SluiceProcess, until } from '../support/sluice-process.ts'

const oldest = fileURLToPath(new URL('../support/oldest-directory', import.meta.url))
const minutes = (count: number) => count * 60_000

const tokenIn = (kubeconfig: string) =>
  (parse(readFileSync(kubeconfig, 'utf8')) as { users: [{ user: { token: string } }] }).users[0].user.token

// The tests follow one directory through its upgrade, so they build on each other.
describe('the oldest data directory', () => {
  const data = mkdtempSync(join(tmpdir(), 'sluice-oldest-'))
  const oldToken = tokenIn(join(oldest, 'kubeconfig'))
  let started: SluiceProcess | undefined
  let sluice: SluiceProcess
  let client: ClusterClient

  beforeAll(async () => {
    cpSync(oldest, data, { recursive: true })
    chmodSync(data, 0o700)
    started = sluice = await SluiceProcess.start(data, ['--no-demo-model'])
    client = await connectKubernetes(sluice.kubeconfig)
  }, minutes(3))
  afterAll(() => {
    started?.destroy()
    rmSync(data, { recursive: true, force: true })
  })

  it('is the same cluster to those who know it: its ID, its administrator, its key pair', async () => {
    const id = /vks\w+/.exec(readFileSync(join(oldest, 'identity.json'), 'utf8'))?.[0]
    expect(sluice.endpoints.clusterId).toBe(id)
    expect(tokenIn(sluice.kubeconfig)).toBe(oldToken)
    const { management, clusterId } = sluice.endpoints
    const headers = { authorization: managementCredential(data) }
    const answer = await fetch(`${management}/api/vks/v1/${clusterId}`, { headers })
    expect(answer.status).toBe(200)
  })

  it('has everything that was in it, and what a new one has beside it', async () => {
    const inDefault = { namespace: 'default', name: 'kept' }
    expect((await client.get(configMapKind, inDefault))?.data).toEqual({ greeting: 'hello' })
    expect((await client.get(secretKind, inDefault))?.data).toEqual({ word: Buffer.from('secret').toString('base64') })
    const exporter = await client.get(serviceExporterKind, inDefault)
    expect(exporter?.spec).toMatchObject({ serviceName: 'kept', servicePort: 80 })
    await until('the claim', minutes(1), async () => {
      return (await client.get(persistentVolumeClaimKind, inDefault))?.status?.phase === 'Bound'
    })
  })

  it('has Models that the current version understands, changes and reports on', async () => {
    const ref = { namespace: 'sluice', name: 'kept' }
    await client.patch(modelKind, ref, { spec: { targetRequests: 5 } })
    await until('the status', minutes(1), async () => (await client.get(modelKind, ref))?.status?.phase === 'Failed')
    const model = await client.get(modelKind, ref)
    expect(model?.spec).toMatchObject({ url: 'pvc://userdata/models/kept', maxReplicas: 3, targetRequests: 5 })
    expect(model?.status?.message).toMatch(
      /There is nothing at pvc:\/\/userdata\/models\/kept: put the model's files into/,
    )
  })

  it(
    'starts again when it is upgraded, and is refused with a sentence by a version that is older than it',
    async () => {
      await sluice.stop()
      started = sluice = await SluiceProcess.start(data, ['--no-demo-model'])
      expect(tokenIn(sluice.kubeconfig)).toBe(oldToken)
      await sluice.stop()
      const store = new DatabaseSync(join(data, 'sluice.db'))
      store.exec('PRAGMA user_version = 99')
      store.close()
      const refusal = await SluiceProcess.start(data, ['--no-demo-model']).then(
        () => 'started',
        (error: unknown) => String(error),
      )
      expect(refusal).toMatch(
        /^sluice: The store file .* was written by a newer version \(schema 99; .*\)\. Start that version/m,
      )
      expect(refusal).not.toMatch(/^ {4}at /m)
    },
    minutes(5),
  )
})
