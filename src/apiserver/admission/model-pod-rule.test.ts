import { describe, expect, it } from 'vitest'
import type { KubernetesObject, OwnerReference } from '../../resources/kubernetes-object.ts'
import { podKind } from '../../resources/pod.ts'
import type { AdmissionRequest } from './admission.ts'
import { modelPodsAreMadeHere } from './model-pod-rule.ts'

const somebody = { name: 'alice', groups: ['system:masters'] }
const model = { apiVersion: 'sluice.dev/v1', kind: 'Model', name: 'm', uid: 'u', controller: true }

const podOf = (...ownerReferences: OwnerReference[]): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'sluice', labels: { 'sluice.dev/model': 'm' }, ownerReferences },
})

function judge(object: KubernetesObject, more: Partial<AdmissionRequest> = {}) {
  return modelPodsAreMadeHere({ operation: 'create', kind: podKind, object, user: somebody, ...more })
}

describe('a Pod that says a Model has made it', () => {
  it('is refused unless the operator makes it, be it when it is created or later', () => {
    expect(judge(podOf(model))).toMatchObject([{ field: 'metadata.ownerReferences' }])
    expect(judge(podOf(model), { operation: 'update', previous: podOf() })).toHaveLength(1)
    expect(judge(podOf({ ...model, uid: 'another' }), { operation: 'update', previous: podOf(model) })).toHaveLength(1)
    expect(judge(podOf(model), { user: undefined })).toEqual([])
  })

  it('may be changed otherwise, let go and deleted by everybody who may', () => {
    expect(judge(podOf(model), { operation: 'update', previous: podOf(model) })).toEqual([])
    expect(judge(podOf(), { operation: 'update', previous: podOf(model) })).toEqual([])
    expect(judge(podOf(model), { operation: 'delete' })).toEqual([])
    expect(
      judge(podOf({ ...model, controller: false }, { ...model, apiVersion: 'apps/v1', kind: 'ReplicaSet' })),
    ).toEqual([])
  })
})
