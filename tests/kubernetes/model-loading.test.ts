import { describe, expect, it } from 'vitest'
import { kubectlPath } from '../support/programs.ts'
import { model } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

const missing = kubectlPath === undefined ? ' (no kubectl)' : ''

onEachServer((server) => {
  describe('how far a Model is loaded', () => {
    const loading = {
      phase: 'Reading',
      percent: 45,
      bytes: 288_000_000_000,
      totalBytes: 640_000_000_000,
      progress: '45 %',
      since: '2030-01-01T00:00:00Z',
      movedAt: '2030-01-01T00:12:00Z',
    }
    const status = {
      phase: 'Waking',
      replicas: 1,
      readyReplicas: 0,
      message: 'Loading.',
      lastLoadSeconds: 1500,
      loading,
    }

    async function loadingModel(name: string): Promise<string> {
      await server.ok('POST', server.path('models', 'sluice.dev/v1'), model(name))
      const path = server.path(`models/${name}/status`, 'sluice.dev/v1')
      await server.patch(path, 'merge', { status })
      return path
    }

    it('is kept as it was written, and gone when it is taken away', async () => {
      const path = await loadingModel('m')
      expect(await server.ok('GET', path)).toMatchObject({ status })
      await server.patch(path, 'merge', { status: { loading: null } })
      expect((await server.ok('GET', path))['status']).not.toHaveProperty('loading')
    })

    it('has no phases but those that there are', async () => {
      const path = await loadingModel('m')
      const wrong = { status: { loading: { ...loading, phase: 'Dreaming', percent: 101 } } }
      const refused = await server.patch(path, 'merge', wrong)
      expect(refused.code).toBe(422)
      expect(refused.text).toContain('status.loading.phase')
      expect(refused.text).toContain('status.loading.percent')
    })

    it.skipIf(!kubectlPath)(`is a column of kubectl get models${missing}`, async () => {
      await loadingModel('big')
      await server.ok('POST', server.path('models', 'sluice.dev/v1'), model('small'))
      const table = await server.kubectl('get models')
      expect(table).toMatch(/^NAME +PHASE +LOADING +READY +REPLICAS +ENGINE +PROFILE +AGE$/m)
      expect(table).toMatch(/^big +Waking +45 % +0 +1 +LlamaCpp +default:1 +\d+s$/m)
      expect(table).toMatch(/^small +LlamaCpp +default:1 +\d+s$/m)
      expect(await server.kubectl('explain model.status.loading.movedAt')).toContain('last seen to move')
    })
  })
})
