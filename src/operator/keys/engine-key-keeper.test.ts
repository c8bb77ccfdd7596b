import { expect, it } from 'vitest'
import { engineKeyIn, engineKeysType } from '../../resources/engine-keys.ts'
import { secretSchema } from '../../resources/secret.ts'
import { newEngineKey } from './engine-key-keeper.ts'

it('makes keys that any program takes for the value of a flag', () => {
  const keys = Array.from({ length: 500 }, newEngineKey)
  expect(keys.filter((key) => !/^[0-9a-f]{64}$/.test(key))).toEqual([])
  expect(new Set(keys).size).toBe(500)
  const [key = ''] = keys
  const data = { a: Buffer.from(key).toString('base64') }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, type: engineKeysType, data }
  expect(engineKeyIn(secretSchema.parse(secret), 'a')).toBe(key)
})
