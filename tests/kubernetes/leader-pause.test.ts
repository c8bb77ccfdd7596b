import { describe, expect, it } from 'vitest'
import { controllerLease } from '../../src/platform/roles/model-lease.ts'
import { gatewayNamespace } from '../../src/resources/model-labels.ts'
import { modelKind } from '../../src/resources/model.ts'
import { askedRequests } from './audit-lines.ts'
import { onEachServer } from './on-each-server.ts'
import { RoleStage } from './role-stage.ts'

const patience = { timeout: 60_000 }

onEachServer((server) => {
  // The lease takes its time to run out, so this is asked of the real server only.
  describe.skipIf(!server.isReal)('of two controllers', () => {
    it('one that was paused while it led changes nothing after the other has begun to lead', async () => {
      const stage = new RoleStage(server)
      const names = Array.from({ length: 20 }, (_none, index) => `paused-${index}`)
      const asUser = (account: string) => `system:serviceaccount:${gatewayNamespace}:${account}`
      const changesOf = (account: string) =>
        askedRequests(server.address.auditLog ?? '').filter(
          ({ user, code = 0 }) => user === asUser(account) && code < 300,
        )
      const isLease = ({ resource, name }: { resource: string; name: string | undefined }) =>
        resource === 'leases' && name === controllerLease.name
      await stage.open()
      try {
        const first = await stage.start('controller', ['--center', 'lab-1'], await stage.kubeconfigOf('pause-a'))
        await first.says('leading')
        const second = await stage.start('controller', ['--center', 'lab-1'], await stage.kubeconfigOf('pause-b'))
        await stage.createModel('before', {})
        await expect.poll(async () => (await stage.model('before'))?.status?.phase, patience).toBe('Asleep')
        first.signal('SIGSTOP')
        // It hears of these when it goes on, and would say how they are.
        for (const name of names) await stage.createModel(name, {})
        await second.says('leading', 60_000)
        const phases = async () =>
          new Set(await Promise.all(names.map(async (n) => (await stage.model(n))?.status?.phase)))
        await expect.poll(phases, patience).toEqual(new Set(['Asleep']))
        first.signal('SIGCONT')
        await first.says('the lease was lost')
        const begun = changesOf('pause-b').find(isLease)?.at ?? 0
        expect(begun).toBeGreaterThan(0)
        expect(changesOf('pause-a').length).toBeGreaterThan(0)
        expect(changesOf('pause-a').filter(({ at }) => at > begun)).toEqual([])
      } finally {
        for (const name of ['before', ...names]) {
          await server.client.delete(modelKind, { name, namespace: gatewayNamespace }).catch(() => {})
        }
        await stage.close()
      }
    })
  })
})
