import { expect, it } from 'vitest'
import { configMapKind } from '../../resources/config-map.ts'
import { modelKind } from '../../resources/model.ts'
import { modelsIn } from './model-namespace-rule.ts'

const rule = modelsIn('sluice')
const modelOf = (namespace: string) => ({
  apiVersion: 'sluice.dev/v1',
  kind: 'Model',
  metadata: { name: 'm', namespace },
})

it('refuses a Model that the gateway would not find, naming the namespace to use', () => {
  expect(rule({ operation: 'create', kind: modelKind, object: modelOf('default') })).toEqual([
    {
      reason: 'FieldValueForbidden',
      field: 'metadata.namespace',
      message: 'Forbidden: the gateway serves Models of the namespace sluice only; create it there',
    },
  ])
  expect(rule({ operation: 'create', kind: modelKind, object: modelOf('sluice') })).toEqual([])
})

it('lets one from before the rule be changed and deleted', () => {
  const object = modelOf('default')
  expect(rule({ operation: 'update', kind: modelKind, object, previous: object })).toEqual([])
  expect(rule({ operation: 'delete', kind: modelKind, object })).toEqual([])
  expect(rule({ operation: 'create', kind: configMapKind, object })).toEqual([])
})
