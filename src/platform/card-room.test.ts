import { describe, expect, it } from 'vitest'
import { modelKind } from '../resources/model.ts'
import { nodeKind } from '../resources/node.ts'
import { podKind } from '../resources/pod.ts'
import { replicasThatFit } from './card-room.ts'

const l40s = 'nvidia.com/gpu-l40s'
const model = (resourceProfile: string) =>
  modelKind.schema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name: 'mine', namespace: 'sluice' },
    spec: { url: 'pvc://userdata/a', engine: 'LlamaCpp', resourceProfile },
  })
const node = (cards: string) =>
  nodeKind.schema.parse({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    status: { allocatable: { [l40s]: cards } },
  })
const pod = (owner: string, cards: string, phase = 'Running') =>
  podKind.schema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'sluice', labels: { 'sluice.dev/model': owner } },
    spec: { containers: [{ name: 'c', resources: { limits: { [l40s]: cards } } }] },
    status: { phase },
  })

describe('replicasThatFit', () => {
  it.each([
    ['all cards are free', `${l40s}:1`, [], 4],
    ['two cards each', `${l40s}:2`, [], 2],
    ['its own Pods count as room', `${l40s}:1`, [pod('mine', '3')], 4],
    ['others are in the way', `${l40s}:1`, [pod('theirs', '3')], 1],
    ['finished Pods are not', `${l40s}:1`, [pod('theirs', '3', 'Failed')], 4],
    ['the default kind', 'default:4', [], 1],
    ['a kind that is not there', 'nvidia.com/gpu-h800:1', [], 0],
  ])('%s', (_name, profile, pods, expected) => {
    expect(replicasThatFit(model(profile), l40s, [node('4')], pods)).toBe(expected)
  })
})
