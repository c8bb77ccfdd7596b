import { expect, it } from 'vitest'
import { type PolicyRule, readRules } from './policy-rule.ts'
import { describeRule, missingRules } from './rule-cover.ts'
import { TooComplicated } from './rule-index.ts'

const rules = (...list: ReadonlyArray<Partial<PolicyRule>>) => readRules(list)
const missing = (held: readonly PolicyRule[], wanted: readonly PolicyRule[]) =>
  missingRules(held, wanted).rules.map((rule) => describeRule(rule))
const pods = { apiGroups: [''], resources: ['pods'] }

it('finds what nobody holds, verb by verb and thing by thing', () => {
  const held = rules({ ...pods, verbs: ['get', 'list'] }, { ...pods, verbs: ['watch'] })
  expect(missing(held, rules({ ...pods, verbs: ['get', 'watch'] }))).toEqual([])
  expect(missing(held, rules({ apiGroups: [''], resources: ['nodes', 'pods'], verbs: ['get', 'delete'] }))).toEqual([
    '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "delete"]}',
    '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
  ])
})

it('takes a star for everything, and nothing less for a star', () => {
  const all = rules({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] })
  expect(missing(all, rules({ ...pods, verbs: ['*'] }, { ...pods, resources: ['pods/log'], verbs: ['get'] }))).toEqual(
    [],
  )
  expect(missing(rules({ ...pods, verbs: ['get'] }), all)).toEqual(['{APIGroups:["*"], Resources:["*"], Verbs:["*"]}'])
})

it('tells a subresource from its resource', () => {
  const log = rules({ apiGroups: [''], resources: ['pods/log'], verbs: ['get'] })
  expect(missing(rules({ ...pods, verbs: ['get'] }), log)).toHaveLength(1)
  expect(missing(rules({ apiGroups: [''], resources: ['*/log'], verbs: ['get'] }), log)).toEqual([])
})

it('takes names for a restriction', () => {
  const named = rules({ ...pods, resourceNames: ['a'], verbs: ['get'] })
  expect(missing(rules({ ...pods, verbs: ['get'] }), named)).toEqual([])
  expect(missing(named, rules({ ...pods, verbs: ['get'] }))).toHaveLength(1)
  expect(missing(named, rules({ ...pods, resourceNames: ['a', 'b'], verbs: ['get'] }))).toEqual([
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
  ])
})

it('covers paths by their beginning', () => {
  const held = rules({ nonResourceURLs: ['/healthz/*'], verbs: ['get'] })
  expect(missing(held, rules({ nonResourceURLs: ['/healthz/etcd', '/metrics'], verbs: ['get'] }))).toEqual([
    '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
  ])
})

const many = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}${index}`)
const wide = (count: number) => ({ apiGroups: many(count, 'g'), resources: many(count, 'r'), verbs: many(count, 'v') })

it('judges rules without spelling out all that they stand for', () => {
  const all = rules({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] })
  expect(missingRules(all, rules(wide(10_000)))).toEqual({ rules: [], isAll: true })
  expect(missingRules(rules(wide(10_000)), rules(wide(10_000)))).toEqual({ rules: [], isAll: true })
  const halves = rules({ ...wide(1_000), verbs: ['get'] }, { ...wide(1_000), verbs: ['list'] })
  expect(missingRules(halves, rules({ ...wide(1_000), verbs: ['get', 'list'] }))).toEqual({ rules: [], isAll: true })
})

it('tells some of what is missing where it is more than anybody reads', () => {
  const { rules: told, isAll } = missingRules([], rules(wide(1_000)))
  expect([told.length > 0, told.length <= 200, isAll]).toEqual([true, true, false])
})

it('gives up on what is held only piece by piece', () => {
  const pieces = many(300, 'r').flatMap((resource) =>
    many(20, 'v').map((verb) => ({ apiGroups: ['*'], resources: [resource], verbs: [verb] })),
  )
  const wanted = { apiGroups: many(100, 'g'), resources: many(300, 'r'), verbs: many(20, 'v') }
  expect(() => missingRules(rules(...pieces), rules(wanted))).toThrow(TooComplicated)
})
