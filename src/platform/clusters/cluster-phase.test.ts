import { describe, expect, it } from 'vitest'
import { type ClusterFacts, clusterVerdict } from './cluster-phase.ts'

const well = { silence: undefined, nodes: 2, readyNodes: 1 }

describe('clusterVerdict', () => {
  it.each<[string, ClusterFacts, string, string]>([
    ['one that is being started', { isDeleting: false }, 'Creating', 'Starting'],
    ['one that runs', { isDeleting: false, running: well }, 'Running', 'Running'],
    ['a silent one', { isDeleting: false, running: { ...well, silence: 'no answer' } }, 'Abnormal', 'ApiNotAnswering'],
    [
      'one without a node',
      { isDeleting: false, running: { ...well, nodes: 0, readyNodes: 0 } },
      'Abnormal',
      'NoNodeReady',
    ],
    ['one whose nodes are gone', { isDeleting: false, running: { ...well, readyNodes: 0 } }, 'Abnormal', 'NoNodeReady'],
    [
      'one that could not be started',
      { isDeleting: false, fault: { reason: 'StartFailed', message: 'the file is no database' } },
      'Abnormal',
      'StartFailed',
    ],
    ['one that goes, whatever else', { isDeleting: true, running: well }, 'Deleting', 'Deleting'],
  ])('of %s', (_what, facts, phase, reason) => {
    expect(clusterVerdict(facts)).toMatchObject({ phase, reason })
  })

  it('says what is the matter', () => {
    const running = { silence: 'connect ECONNREFUSED', nodes: 3, readyNodes: 0 }
    expect(clusterVerdict({ isDeleting: false, running }).message).toBe('Its API does not answer: connect ECONNREFUSED')
    expect(clusterVerdict({ isDeleting: false, running: { ...running, silence: undefined } }).message).toBe(
      'None of its 3 nodes is Ready.',
    )
  })
})
