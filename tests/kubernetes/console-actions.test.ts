import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apiKeyKind } from '../../src/resources/api-key.ts'
import { controllerAccount, gatewayNamespace } from '../../src/resources/model-labels.ts'
import { modelKind } from '../../src/resources/model.ts'
import { chart, helmPath } from '../support/chart-stage.ts'
import { until } from '../support/sluice-process.ts'
import { onEachServer } from './on-each-server.ts'
import { RoleStage } from './role-stage.ts'

const patience = { timeout: 60_000 }
const account = 'sluice-management'
const name = 'console-actions'
const absent = helmPath === undefined

interface Answer {
  readonly status: number
  readonly msg?: string
  readonly data?: Readonly<Record<string, unknown>>
}

onEachServer((server) => {
  describe.skipIf(absent)('the console of a Kubernetes, with the rights that the chart gives it', () => {
    let stage: RoleStage
    let objects: string
    let url: string
    let authorization: string
    const ref = { name, namespace: gatewayNamespace }

    beforeAll(async () => {
      stage = new RoleStage(server)
      await stage.open()
      await stage.start('controller', ['--center', 'lab-1'], await stage.kubeconfigOf(controllerAccount))
      objects = await accessObjects()
      await server.kubectl(`apply --namespace=${gatewayNamespace} -f -`, objects)
      // A real server hears of roles a moment later, and the role would wait for the rights it lists with.
      await until('the rights of the role', patience.timeout, () => may('list', 'nodes'))
      const management = await stage.start(
        'management',
        ['--management-port', '0', '--console-actions'],
        await stage.ownKubeconfigOf(account),
      )
      url = String((await management.says('the management API listens'))['url'])
      const flags = ['--kubeconfig', server.address.kubeconfig]
      const key = await server.run('bin/sluice', ['access-key', 'create', name, ...flags])
      const { accessKey, secretKey } = JSON.parse(key.stdout) as Record<string, string>
      authorization = `plain Credential=${accessKey},Signature=${secretKey}`
    })
    afterAll(async () => {
      await server.client.delete(modelKind, ref).catch(() => {})
      await server.client.delete(apiKeyKind, { name }).catch(() => {})
      await stage.close()
      await server.kubectl(`delete --namespace=${gatewayNamespace} --ignore-not-found -f -`, objects)
    })

    /** The account of the chart's management role, and its rights. */
    async function accessObjects(): Promise<string> {
      const settings = [
        'registry=registry.lab-1.localhost',
        'management.enabled=true',
        'management.consoleActions=true',
      ]
      const words = settings.flatMap((setting) => ['--set', setting])
      const { stdout } = await server.run(helmPath ?? '', ['template', 'demo', chart, ...words])
      return stdout
        .split('\n---\n')
        .filter((text) => /^kind: (ServiceAccount|(Cluster)?Role(Binding)?)$/m.test(text))
        .filter((text) => text.includes(`name: ${account}`))
        .join('\n---\n')
    }

    async function may(verb: string, resource: string, group = '', subresource?: string): Promise<boolean> {
      const resourceAttributes = { verb, resource, subresource, group, namespace: gatewayNamespace }
      const user = `system:serviceaccount:${gatewayNamespace}:${account}`
      const review = { spec: { user, resourceAttributes } }
      const answer = await server.ok('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review)
      return (answer['status'] as { allowed?: boolean }).allowed === true
    }

    async function ask(method: string, path: string, body?: object): Promise<Answer> {
      const response = await fetch(`${url}/api/console/v1/${path}`, {
        method,
        headers: { authorization, 'x-sluice-console': '1' },
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: response.status, ...((await response.json()) as object) }
    }
    const ready = async () => (await server.client.get(modelKind, ref))?.status?.readyReplicas
    const spec = async () => (await server.client.get(modelKind, ref))?.spec

    it('adds a Model, wakes it, scales it and puts it to sleep', async () => {
      expect((await ask('GET', 'session')).data).toMatchObject({ mayFetch: false, mayUpload: false })
      expect((await ask('GET', 'session')).data).not.toHaveProperty('readOnly')
      const model = { name, source: `pvc://userdata/models/${name}`, engine: 'VLLM', maxReplicas: 3 }
      expect(await ask('POST', 'models', model)).toMatchObject({ status: 200 })
      expect(await spec()).toMatchObject({ engine: 'VLLM', maxReplicas: 3, minReplicas: 0 })
      await expect.poll(async () => (await ask('POST', `models/${name}/wake`)).status, patience).toBe(200)
      expect(await spec()).toMatchObject({ replicas: 1 })
      await expect.poll(ready, patience).toBe(1)
      expect(await ask('POST', `models/${name}/scale`, { replicas: 2 })).toMatchObject({ status: 200 })
      expect(await spec()).toMatchObject({ replicas: 2 })
      await expect.poll(ready, patience).toBe(2)
      expect(await ask('POST', `models/${name}/sleep`)).toMatchObject({ status: 200 })
      expect(await spec()).toMatchObject({ replicas: 0 })
    })

    it('edits its YAML, which the cluster checks first', async () => {
      const path = `models/${name}/manifest`
      const manifest = async (from: string, to: string) => {
        const { data } = await ask('GET', path)
        return String(data?.['yaml']).replace(from, to)
      }
      const misspelt = { yaml: await manifest('maxReplicas: 3', 'maxReplica: 4'), dryRun: true }
      const refused = await ask('PUT', path, misspelt)
      expect(refused.status).toBeGreaterThanOrEqual(400)
      expect(refused.msg).toContain('unknown field "spec.maxReplica"')
      const save = async (dryRun: boolean) =>
        ask('PUT', path, { yaml: await manifest('maxReplicas: 3', 'maxReplicas: 4'), dryRun })
      // The controller may write its status in between: what was read is then too old, and said to be.
      await expect.poll(() => save(true), patience).toMatchObject({ status: 200, data: { saved: false } })
      expect(await spec()).toMatchObject({ maxReplicas: 3 })
      await expect.poll(async () => (await save(false)).status, patience).toBe(200)
      expect(await spec()).toMatchObject({ maxReplicas: 4 })
    })

    it('makes keys of its enterprise, and revokes them', async () => {
      const made = await ask('POST', 'keys', { name: `${name}-app`, use: 'Inference', models: [name] })
      expect(made).toMatchObject({ status: 200, data: { secret: expect.stringMatching(/^sk-/) } })
      const key = await server.client.get(apiKeyKind, { name: `${name}-app` })
      expect(key?.spec).toMatchObject({ enterprise: 'home', use: 'Inference', allowedModels: [name] })
      await expect.poll(async () => (await ask('DELETE', `keys/${name}-app`)).status, patience).toBe(200)
      expect(await server.client.get(apiKeyKind, { name: `${name}-app` })).toBeUndefined()
    })

    it('removes it', async () => {
      expect(await ask('DELETE', `models/${name}`)).toMatchObject({ status: 200 })
      await expect.poll(spec, patience).toBeUndefined()
    })

    it('has no right beyond that', async () => {
      const beyond = [
        ['update', 'models', 'sluice.dev', 'status'],
        ['update', 'apikeys', 'sluice.dev'],
        ['create', 'clusters', 'sluice.dev'],
        ['create', 'pods'],
        ['delete', 'pods'],
        ['create', 'pods', '', 'exec'],
        ['list', 'secrets'],
        ['create', 'secrets'],
      ] as const
      for (const [verb, resource, group, subresource] of beyond) {
        expect([verb, resource, await may(verb, resource, group, subresource)]).toEqual([verb, resource, false])
      }
      // It takes no files: where a Model's files are, it has no disk.
      expect(await ask('POST', 'models', { name: 'far', source: 'hf:o/r/f.gguf' })).toMatchObject({ status: 501 })
      expect(await ask('POST', 'uploads', { name: 'far', files: [{ name: 'a.gguf', bytes: 4 }] })).toMatchObject({
        status: 501,
      })
    })
  })
})
