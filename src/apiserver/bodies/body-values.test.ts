import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { configMapKind } from '../../resources/config-map.ts'
import { customResourceDefinitionKind } from '../../resources/custom-resource-definition-kind.ts'
import { mostValues, mostValuesOf, refuseGrowth, refuseManyCommas } from './body-values.ts'
import { type TestCertificates, createTestCertificates } from '../test-support/certificates.fixture.ts'
import { core, entries, post } from '../hostile-inputs/hostile-calls.fixture.ts'
import { HostileCluster } from '../hostile-inputs/hostile-cluster.fixture.ts'

let certificates: TestCertificates
let cluster: HostileCluster | undefined

beforeAll(async () => {
  certificates = await createTestCertificates('CN=nobody')
})

afterEach(async () => {
  await cluster?.stop()
  cluster = undefined
})

const keys = (count: number, prefix: string) => entries(count, 1, (index) => `${prefix}${index}`, 'v')
const path = `${core}/configmaps/hostile`

describe('an object of very many keys', () => {
  it('is refused before anything is made of it, and not made in parts either', { timeout: 30_000 }, async () => {
    cluster = await HostileCluster.start(certificates)
    const refused = await cluster.send(post(`${core}/configmaps`, { data: keys(mostValues + 1, 'a') }))
    expect(refused.code).toBe(413)
    expect(refused.text).toContain(`a body may have at most ${mostValues} fields and items`)
    expect((await cluster.send(post(`${core}/configmaps`, { data: keys(20_000, 'a') }))).code).toBe(201)
    const type = 'application/merge-patch+json'
    const more = JSON.stringify({ data: keys(20_000, 'b') })
    const grown = await cluster.send({ method: 'PATCH', path, type, body: more })
    expect(grown.code).toBe(413)
    expect(grown.text).toContain(`an object may have at most ${mostValues} fields and items`)
    const little = JSON.stringify({ data: keys(10, 'b') })
    expect((await cluster.send({ method: 'PATCH', path, type, body: little })).code).toBe(200)
  })

  it('that there is already may become smaller, and stay as it is', () => {
    const before = keys(200, 'a')
    expect(() => refuseGrowth(() => before, { ...before, a0: 'w' }, 100)).not.toThrow()
    expect(() => refuseGrowth(() => before, keys(150, 'a'), 100)).not.toThrow()
    expect(() => refuseGrowth(() => before, keys(201, 'a'), 100)).toThrow('an object may have at most 100')
    expect(() => refuseGrowth(() => ({}), keys(101, 'a'), 100)).toThrow('an object may have at most 100')
  })
})

it('takes larger definitions than objects', () => {
  expect(mostValuesOf(customResourceDefinitionKind)).toBeGreaterThan(50_000)
  expect(mostValuesOf(configMapKind)).toBe(mostValues)
})

it('counts only commas that part values', () => {
  const refuse = (value: unknown) => () => refuseManyCommas(Buffer.from(JSON.stringify(value)), 10)
  expect(refuse({ text: ',"\\,'.repeat(100), more: '\\' })).not.toThrow()
  expect(refuse(keys(10, 'a'))).not.toThrow()
  expect(refuse(keys(11, 'a'))).toThrow('a body may have at most 10')
  expect(refuse([['"', ...Array.from({ length: 11 }, () => 1)]])).toThrow('a body may have at most 10')
})
