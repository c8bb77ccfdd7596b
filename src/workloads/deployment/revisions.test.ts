import { expect, it } from 'vitest'
import { type ReplicaSet, replicaSetKind } from '../../resources/replica-set.ts'
import { byRevision, nextRevision, revisionAnnotation, revisionOf } from './revisions.ts'

function replicaSet(revision: string): ReplicaSet {
  return replicaSetKind.schema.parse({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'a', annotations: { [revisionAnnotation]: revision } },
    spec: { selector: {}, template: { spec: { containers: [{ name: 'a' }] } } },
  })
}

it('goes on exactly from the revision of a ReplicaSet that is adopted, however large', () => {
  expect(nextRevision([replicaSet('2'), replicaSet('3546343826724305832')])).toBe(3546343826724305833n)
  expect(nextRevision([])).toBe(1n)
})

it.each(['', 'x', '-1', '1.5', '9999999999999999999', '1e3'])('counts %j as nothing', (text) => {
  expect(revisionOf(replicaSet(text))).toBe(0n)
})

it('puts the oldest first', () => {
  const sorted = ['3546343826724305833', '1', '3546343826724305832'].map((text) => replicaSet(text)).sort(byRevision)
  expect(sorted.map((set) => revisionOf(set))).toEqual([1n, 3546343826724305832n, 3546343826724305833n])
})
