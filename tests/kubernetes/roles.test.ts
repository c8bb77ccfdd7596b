import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clusterKind } from '../../src/resources/cluster.ts'
import { controllerAccount, gatewayNamespace } from '../../src/resources/model-labels.ts'
import { modelKind } from '../../src/resources/model.ts'
import { serviceExporterKind } from '../../src/resources/service-exporter.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { onEachServer } from './on-each-server.ts'
import { RoleStage, askModel } from './role-stage.ts'

const patience = { timeout: 60_000 }
const name = 'roles-model'

// The tests follow one Model through its life, so they build on each other.
onEachServer((server) => {
  describe('the roles, with somebody who plays the node', () => {
    let stage: RoleStage
    let gateway: string
    const phase = async () => (await stage.model(name))?.status?.phase

    beforeAll(async () => {
      stage = new RoleStage(server)
      await stage.open()
      // Nobody else may make Pods of Models.
      const kubeconfig = await stage.kubeconfigOf(controllerAccount)
      await stage.start('controller', ['--center', 'lab-1', '--idle-window', '2'], kubeconfig)
      gateway = await stage.startGateway()
      await stage.createModel(name, { maxReplicas: 2, targetRequests: 1, scaleDownDelaySeconds: 0 })
    })
    afterAll(async () => {
      await server.client.delete(modelKind, { name, namespace: gatewayNamespace })
      await stage.close()
    })

    it('say that a Model which nobody asks sleeps', async () => {
      await expect.poll(phase, patience).toBe('Asleep')
      expect(await stage.podsOf(name)).toEqual([])
    })

    it('wake it for the first request, which waits', async () => {
      stage.player.hold()
      const answer = askModel(gateway, name)
      await expect.poll(() => stage.player.asked, patience).toHaveLength(1)
      await expect.poll(phase, patience).toBe('Ready')
      expect((await stage.podsOf(name))[0]?.spec).toMatchObject({
        nodeName: stage.player.nodeName,
        containers: [{ image: expect.stringMatching(/^registry\.lab-1\.localhost\/sluice\/vllm:/) }],
      })
      stage.player.release()
      expect(await answer).toMatchObject({ status: 200, text: expect.stringContaining('model-roles') })
    })

    it('add a replica when there are more requests than one is to have, and use both', async () => {
      stage.player.hold()
      stage.player.asked.length = 0
      const answers = Promise.all(Array.from({ length: 4 }, () => askModel(gateway, name)))
      await expect.poll(() => stage.podsOf(name), patience).toHaveLength(2)
      await expect.poll(() => stage.player.asked, patience).toHaveLength(4)
      stage.player.release()
      expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    })

    it('put it to sleep when nobody asks any more', async () => {
      await expect.poll(phase, patience).toBe('Asleep')
      await expect.poll(() => stage.podsOf(name), patience).toEqual([])
      expect(await stage.model(name)).toMatchObject({ spec: { replicas: 0 }, status: { replicas: 0 } })
    })

    it('say of a ServiceExporter where it is reached, and that nobody answers there', async () => {
      const namespace = server.namespace
      await server.client.create(serviceKind, {
        metadata: { name: 'web', namespace },
        spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
      })
      const metadata = { name: 'web', namespace }
      await server.client.create(serviceExporterKind, { metadata, spec: { serviceName: 'web', servicePort: 80 } })
      await stage.start('exposure', ['--exposure-port', '0'])
      const status = async () => (await server.client.get(serviceExporterKind, metadata))?.status
      await expect.poll(status, patience).toMatchObject({
        url: expect.stringMatching(new RegExp(`^https://web-x-${namespace}-x-vks[a-z0-9]+\\.lab-1\\.localhost:`)),
        conditions: [{ type: 'Ready', status: 'False', reason: 'NoReadyEndpoint' }],
      })
    })

    it('tell of the cluster by the management API, and of one that is attached to it', async () => {
      const management = await stage.start('management', ['--management-port', '0'])
      const { url, cluster } = await management.says('the management API listens')
      const sluice = async (...words: string[]) => {
        const finished = await server.run('bin/sluice', [...words, '--kubeconfig', server.address.kubeconfig])
        expect(finished).toMatchObject({ code: 0 })
        return finished.stdout
      }
      const key = await sluice('access-key', 'create', `roles-${server.namespace}`)
      const { accessKey, secretKey } = JSON.parse(key) as Record<string, string>
      const authorization = `plain Credential=${accessKey},Signature=${secretKey}`
      const ask = async (path: string) => {
        const response = await fetch(`${String(url)}${path}`, { headers: { authorization } })
        const body: unknown = await response.json()
        return body
      }
      const cards = { gpu: [{ name: 'nvidia.com/gpu-l40s', hard: 8 }] }
      expect(await ask(`/api/vks/v1/${String(cluster)}`)).toMatchObject({
        code: 0,
        data: { id: cluster, status: 'Running', utilizationRate: cards },
      })
      expect(await ask('/api/aidc/v1/list')).toMatchObject({ code: 0, data: [{ code: 'lab-1' }] })

      // Its console shows the same, and changes nothing.
      expect(await ask('/api/console/v1/session')).toMatchObject({
        code: 0,
        data: { cluster: { id: cluster }, readOnly: expect.stringContaining('may only read') },
      })
      expect(await consoleItems(String(url), authorization)).toMatchObject({
        'card/nvidia.com/gpu-l40s': { total: 8 },
        [`cluster/${String(cluster)}`]: { phase: 'Running' },
      })
      const made = await fetch(`${String(url)}/api/console/v1/keys`, {
        method: 'POST',
        headers: { authorization, 'x-sluice-console': '1' },
        body: JSON.stringify({ name: 'by-console', use: 'Management' }),
      })
      expect(made.status).toBe(501)

      // Attached to itself, under another name: the same cards, seen from outside.
      const elsewhere = `elsewhere-${server.namespace}`
      await sluice('cluster', 'create', elsewhere, '--attach', server.address.kubeconfig)
      const { status } = (await server.client.get(clusterKind, { name: elsewhere })) ?? {}
      expect(status).toMatchObject({ phase: 'Running', controlPlane: server.address.server })
      expect(status?.id).not.toBe(cluster)
      const detail = { id: status?.id, name: elsewhere, status: 'Running', utilizationRate: cards }
      await expect.poll(() => ask(`/api/vks/v1/${status?.id}`), patience).toMatchObject({ code: 0, data: detail })
      await sluice('cluster', 'delete', elsewhere)
      await expect.poll(() => ask(`/api/vks/v1/${status?.id}`), patience).not.toMatchObject({ code: 0 })
    })
  })
})

/** Everything that the console shows, by the first message of its stream. */
async function consoleItems(url: string, authorization: string): Promise<unknown> {
  const leaving = new AbortController()
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(20_000)])
  const { body } = await fetch(`${url}/api/console/v1/live`, { headers: { authorization }, signal })
  let text = ''
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (text.includes('\n\n')) break
  }
  leaving.abort()
  const [, data = '{}'] = /^event: whole\ndata: (.*)$/m.exec(text) ?? []
  const { changed } = JSON.parse(data) as { changed?: unknown }
  return changed
}
