import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { customKinds } from './all-kinds.ts'
import { customResourceDefinition } from './custom-resource-definition.ts'
import { customResourceFile } from './custom-resource-file.ts'
import { modelKind } from './model.ts'

const folder = join(import.meta.dirname, '../../charts/sluice/crds')

describe('the CustomResourceDefinitions of the chart', () => {
  it.each(customKinds)('hold what src/resources says of $kind (node scripts/generate-crds.ts)', (kind) => {
    const { name, text } = customResourceFile(kind)
    expect(readFileSync(join(folder, name), 'utf8')).toBe(text)
  })

  it('are those of our kinds and no others', () => {
    expect(readdirSync(folder).toSorted()).toEqual(customKinds.map((kind) => customResourceFile(kind).name).toSorted())
  })

  it('give a Model its defaults, rules, subresources and columns', () => {
    expect(customResourceDefinition(modelKind)).toMatchObject({
      metadata: { name: 'models.sluice.dev' },
      spec: {
        scope: 'Namespaced',
        versions: [
          {
            name: 'v1',
            subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas' } },
            schema: {
              openAPIV3Schema: {
                properties: {
                  metadata: { type: 'object' },
                  spec: {
                    required: ['url', 'engine'],
                    properties: {
                      minReplicas: { type: 'integer', default: 0, minimum: 0 },
                      url: { 'x-kubernetes-validations': [{ message: expect.stringContaining('pvc://') }] },
                    },
                    'x-kubernetes-validations': [{ fieldPath: '.minReplicas' }],
                  },
                },
              },
            },
          },
        ],
      },
    })
  })
})
