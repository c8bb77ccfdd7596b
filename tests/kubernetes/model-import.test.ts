import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { kubeAiModelKind } from '../../src/platform/model-import/kubeai-model.ts'
import { gatewayNamespace } from '../../src/resources/model-labels.ts'
import { modelKind } from '../../src/resources/model.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { isStatusError } from '../../src/resources/status-error.ts'
import { askUntil } from './ask-until.ts'
import { customResourceDefinitionKind } from './custom-resource-definition-kind.ts'
import { onEachServer } from './on-each-server.ts'

const sluice = join(import.meta.dirname, '../../bin/sluice')

const definition = {
  metadata: { name: 'models.kubeai.org' },
  spec: {
    group: 'kubeai.org',
    scope: 'Namespaced',
    names: { kind: 'Model', listKind: 'ModelList', plural: 'models', singular: 'model' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        },
      },
    ],
  },
}

onEachServer((server) => {
  const isServed = () =>
    server.client.list(kubeAiModelKind).then(
      () => 'served',
      (error: unknown) => String(error),
    )

  describe('sluice model import', () => {
    // For a while kubectl would take "models" for those of KubeAI, which other files must not see.
    afterAll(async () => {
      await server.client.delete(customResourceDefinitionKind, definition.metadata)
      await askUntil(isServed, (answer) => answer !== 'served')
    })

    it('turns the Models of KubeAI in a cluster into ours, once', async () => {
      await server.client.create(customResourceDefinitionKind, definition)
      await server.client.create(namespaceKind, { metadata: { name: gatewayNamespace } }).catch((error: unknown) => {
        if (!isStatusError(error, 'AlreadyExists')) throw error
      })
      await askUntil(isServed, (answer) => answer === 'served')
      const name = `imported-${server.namespace}`
      const spec = { url: 'hf://org/name', engine: 'VLLM', resourceProfile: 'nvidia-gpu-l4:2', env: { A: '1' } }
      await server.client.create(kubeAiModelKind, { metadata: { name, namespace: server.namespace }, spec })
      const { kubeconfig } = server.address
      const from = ['model', 'import', '--from-kubeconfig', kubeconfig, '--namespace', server.namespace]
      const printed = await server.run(sluice, from)
      expect(printed).toMatchObject({ code: 0, stdout: expect.stringContaining(`name: ${name}`) })
      expect(printed.stderr).toContain(`${name}: spec.env left out: `)
      const apply = [...from, '--apply', '--kubeconfig', kubeconfig]
      expect(await server.run(sluice, apply)).toMatchObject({ code: 0, stdout: `${name} created\n` })
      const ours = { name, namespace: gatewayNamespace }
      expect((await server.client.get(modelKind, ours))?.spec).toMatchObject({
        url: 'pvc://userdata/models/org/name',
        engine: 'VLLM',
        resourceProfile: 'nvidia.com/gpu-l4:2',
        maxReplicas: 1,
      })
      const again = await server.run(sluice, apply)
      expect(again).toMatchObject({ code: 3, stdout: '' })
      expect(again.stderr).toContain(`${name}: left out: the cluster has a Model of that name; it stays.`)
      await server.client.delete(modelKind, ours)
    })

    it('exits with 3 when a Model has no counterpart, and with 2 when there is nothing to read', async () => {
      const file = join(server.folder, 'kubeai.json')
      const model = (engine: string) => ({
        apiVersion: 'kubeai.org/v1',
        kind: 'Model',
        metadata: { name: engine.toLowerCase() },
        spec: { url: 'hf://org/name', engine },
      })
      writeFileSync(file, JSON.stringify({ kind: 'List', items: [model('VLLM'), { ...model('VLLM'), spec: {} }] }))
      expect(await server.run(sluice, ['model', 'import', file])).toMatchObject({
        code: 3,
        stdout: expect.stringContaining('name: vllm'),
      })
      writeFileSync(file, JSON.stringify(model('OLlama')))
      expect(await server.run(sluice, ['model', 'import', file])).toMatchObject({ code: 0 })
      expect(await server.run(sluice, ['model', 'import', file, '--strict'])).toMatchObject({ code: 3 })
      const missing = await server.run(sluice, ['model', 'import', join(server.folder, 'missing.yaml')])
      expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('ENOENT') })
    })
  })
})
