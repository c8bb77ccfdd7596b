import { expect, it } from 'vitest'
import { type PolicyRule, readRules } from './policy-rule.ts'
import { describeRule, missingRules } from './rule-cover.ts'

const rules = (...list: ReadonlyArray<Partial<PolicyRule>>) => readRules(list)
const missing = (held: readonly PolicyRule[], wanted: readonly PolicyRule[]) =>
  missingRules(held, wanted).map((rule) => describeRule(rule))
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

it('refuses a rule that stands for more than can be counted', () => {
  const many = (name: string) => Array.from({ length: 300 }, (_, index) => `${name}${index}`)
  const huge = rules({ apiGroups: many('g'), resources: many('r'), verbs: ['get'] })
  expect(() => missingRules([], huge)).toThrow(expect.objectContaining({ reason: 'BadRequest' }))
})
