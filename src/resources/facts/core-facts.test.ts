import { describe, expect, it } from 'vitest'
import { coreKinds } from '../all-kinds.ts'
import { coreSchema, coreType, hasCoreSchema } from './core-facts.ts'

describe('the facts about Kubernetes’ own types', () => {
  it('are there for every core kind, down to the last type', () => {
    const seen = new Set<object>()
    const walk = (schema: object | undefined) => {
      if (!schema || seen.has(schema)) return
      seen.add(schema)
      const { properties, items, additionalProperties } = schema as ReturnType<typeof coreSchema>
      for (const field of Object.values(properties ?? {})) walk(field)
      walk(items)
      if (typeof additionalProperties === 'object') walk(additionalProperties)
    }
    for (const kind of coreKinds) {
      expect(Object.keys(kind.fields().properties ?? {})).toEqual(
        expect.arrayContaining(['apiVersion', 'kind', 'metadata']),
      )
      walk(kind.fields())
    }
    expect(seen.size).toBeGreaterThan(500)
  })

  it('say how lists merge', () => {
    const podSpec = coreSchema('apps', 'v1', 'Deployment').properties?.['spec']?.properties?.['template']?.properties?.[
      'spec'
    ]
    expect(podSpec?.properties?.['containers']).toMatchObject({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'name',
    })
    expect(podSpec?.properties?.['containers']?.items?.properties?.['ports']?.['x-kubernetes-list-map-keys']).toEqual([
      'containerPort',
      'protocol',
    ])
    expect(podSpec?.properties?.['tolerations']?.['x-kubernetes-list-type']).toBe('atomic')
    expect(podSpec).toBe(coreSchema('', 'v1', 'Pod').properties?.['spec'])
  })

  it('hold types that hold themselves', () => {
    const schema = coreType('io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps')
    expect(schema?.properties?.['not']).toBe(schema)
    expect(schema?.properties?.['properties']?.additionalProperties).toBe(schema)
  })

  it('keep the markers of a field apart from those of its type', () => {
    const strategy = coreSchema('apps', 'v1', 'Deployment').properties?.['spec']?.properties?.['strategy']
    expect(strategy?.['x-kubernetes-patch-strategy']).toBe('retainKeys')
    expect(coreType('io.k8s.api.apps.v1.DeploymentStrategy')?.['x-kubernetes-patch-strategy']).toBeUndefined()
  })

  it('know quantities and ports that may have a name', () => {
    expect(coreType('io.k8s.apimachinery.pkg.api.resource.Quantity')).toMatchObject({ format: 'quantity' })
    const port = coreType('io.k8s.api.core.v1.ServicePort')?.properties?.['targetPort']
    expect(port).toMatchObject({ 'x-kubernetes-int-or-string': true })
  })

  it('are not there for what was never asked about', () => {
    expect(hasCoreSchema('', 'v1', 'ReplicationController')).toBe(false)
    expect(hasCoreSchema('', '', 'constructor')).toBe(false)
    expect(coreType('toString')).toBeUndefined()
    expect(() => coreSchema('', 'v1', 'ReplicationController')).toThrow('no facts')
  })
})
