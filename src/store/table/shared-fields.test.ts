import { expect, it } from 'vitest'
import { SharedFields } from './shared-fields.ts'

const written = (fieldsV1: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', managedFields: [{ manager: 'm', fieldsV1 }] },
})
const common = () => ({ 'f:spec': { 'f:nodeName': {} } })
const fieldsOf = ({ metadata }: ReturnType<typeof written>) => metadata.managedFields[0]?.fieldsV1

it('holds equal fields of managers once', () => {
  const shared = new SharedFields()
  const [first, second, third] = [written(common()), written(common()), written(common())]
  for (const object of [first, second, third]) shared.share(object)
  expect(fieldsOf(second)).toBe(fieldsOf(first))
  expect(fieldsOf(third)).toBe(fieldsOf(first))
})

it('does not go on holding what no other object has, and still shares what many have', () => {
  const shared = new SharedFields()
  const first = written(common())
  shared.share(first)
  for (let at = 0; at < 5_000; at += 1) {
    shared.share(written({ [`k:{"uid":"${at}"}`]: {} }))
    shared.share(written(common()))
  }
  const last = written(common())
  shared.share(last)
  expect(fieldsOf(last)).toBe(fieldsOf(first))
  expect(shared.size).toBeLessThan(200)
})
