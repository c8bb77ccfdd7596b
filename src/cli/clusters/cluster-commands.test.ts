import { describe, expect, it } from 'vitest'
import { type Cluster, clusterSchema } from '../../resources/cluster.ts'
import { renderList } from '../output/print-output.ts'
import { clusterListing } from './cluster-list.ts'
import { parseQuota } from './cluster-quota.ts'
import { clusterLines } from './cluster-show.ts'
import { findCommand } from '../commands.ts'

const cluster = (spec: object, status: object): Cluster =>
  clusterSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Cluster',
    metadata: { name: 'team' },
    spec: { displayName: 'The team', enterprise: 'acme', center: 'local-1', ...spec },
    status,
  })

describe('sluice cluster', () => {
  it('has its five commands', () => {
    for (const name of ['create', 'list', 'show', 'kubeconfig', 'delete']) {
      expect(findCommand(['cluster', name, 'x'])).toMatchObject({ command: { name: `cluster ${name}` }, rest: ['x'] })
    }
  })

  it('reads a quota', () => {
    expect(parseQuota('cpu=4, memory=16Gi,nvidia.com/gpu-l40s=1')).toEqual({
      cpu: '4',
      memory: '16Gi',
      'nvidia.com/gpu-l40s': '1',
    })
  })

  it.each(['', 'cpu', 'cpu=', '=4', 'cpu=much', 'cpu=-1', 'cpu=1=2', 'cpu=1,cpu=2'])(
    'refuses the quota "%s"',
    (text) => {
      expect(() => parseQuota(text)).toThrow('--quota: ')
    },
  )

  it('says how a cluster is, and why', () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'NoNodeReady', message: 'It has no node.' }]
    const status = { id: 'vksabc', phase: 'Abnormal', controlPlane: 'https://192.0.2.1', conditions }
    const kubeconfigSecret = { namespace: 'sluice', name: 'team', key: 'kubeconfig' }
    const lines = clusterLines(cluster({ kubeconfigSecret }, status))
    expect(lines).toContain('Status:         Abnormal (NoNodeReady: It has no node.)')
    expect(lines).toContain('Kind:           attached, by the Secret sluice/team')
    expect(clusterLines(cluster({ quota: { cpu: '2' } }, { ...status, phase: 'Running' }))).toEqual(
      expect.arrayContaining(['Status:         Running', 'Kind:           embedded', 'Quota:          cpu=2']),
    )
  })

  it('lists clusters, also one that has just been made', async () => {
    expect((await renderList([cluster({}, {})], clusterListing, undefined)).text.split('\n')[1]).toMatch(
      /^team +Creating +embedded +acme +local-1/,
    )
  })
})
