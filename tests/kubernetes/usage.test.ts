import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { controllerAccount, gatewayNamespace } from '../../src/resources/model-labels.ts'
import { modelKind } from '../../src/resources/model.ts'
import { type UsageRecord, usageDayOf, usageRecordKind } from '../../src/resources/usage-record.ts'
import { summarizeUsage } from '../../src/resources/usage-summary.ts'
import { onEachServer } from './on-each-server.ts'
import { RoleStage, askModel } from './role-stage.ts'

const patience = { timeout: 60_000, interval: 500 }
const name = 'usage-model'

// The tests follow one Model through its life, so they build on each other.
onEachServer((server) => {
  describe('what models are used for, with several gateways', () => {
    let stage: RoleStage
    const gateways: string[] = []
    let kubeconfig: string

    beforeAll(async () => {
      stage = new RoleStage(server)
      await stage.open()
      kubeconfig = await stage.kubeconfigOf(controllerAccount)
      await stage.start('controller', ['--center', 'lab-1', '--idle-window', '2'], kubeconfig)
      for (let count = 0; count < 2; count++) gateways.push(await stage.startGateway())
      await stage.createModel(name, { scaleDownDelaySeconds: 0 })
    })
    afterAll(async () => {
      await server.client.delete(modelKind, { name, namespace: gatewayNamespace })
      await stage.close()
      for (const { metadata } of await records()) await server.client.delete(usageRecordKind, metadata)
    })

    const records = async (): Promise<readonly UsageRecord[]> =>
      (await server.client.list(usageRecordKind, { namespace: gatewayNamespace })).items
    const total = async () => summarizeUsage(await records(), { since: '2000-01-01', model: name, by: [] }).total

    it('is added up over all of them, and over the cards that the controller sees', async () => {
      for (const gateway of gateways) expect(await askModel(gateway, name)).toMatchObject({ status: 200 })
      await expect.poll(total, patience).toMatchObject({ requests: 2, failedRequests: 0 })
      await expect.poll(async () => (await total()).cardSeconds, patience).toBeGreaterThan(0)
      const days = new Set((await records()).map(({ spec }) => spec.day))
      // One or, around midnight, two.
      expect([...days].every((day) => day >= usageDayOf(Date.now() - 3_600_000))).toBe(true)
    })

    it('is kept when a gateway is killed, and another one goes on', async () => {
      stage.killLast()
      const gateway = await stage.startGateway()
      expect(await askModel(gateway, name)).toMatchObject({ status: 200 })
      await expect.poll(total, patience).toMatchObject({ requests: 3 })
      const words = ['usage', '--model', name, '--kubeconfig', server.address.kubeconfig]
      // The engine here reports no tokens: they are estimates.
      const { stdout } = await server.run('bin/sluice', words)
      expect(stdout).toMatch(new RegExp(`\\n${name} +3 +0 +[1-9]\\d* +[1-9]\\d* +\\d+s`))
    })

    it('cannot be written in another form', async () => {
      const metadata = { name: 'wrong', namespace: gatewayNamespace }
      const spec = { day: 'today', writer: 'me', lastWrite: { run: 'a', number: 1 } }
      await expect(server.client.create(usageRecordKind, { metadata, spec })).rejects.toThrow('spec.day')
      const many = Array.from({ length: 1_002 }, (_, index) => ({ model: `m${index}` }))
      const tooMany = { ...spec, day: '2030-01-01', served: many }
      await expect(server.client.create(usageRecordKind, { metadata, spec: tooMany })).rejects.toThrow('spec.served')
    })
  })
})
