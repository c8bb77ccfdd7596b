import { expect, it } from 'vitest'
import { coreKinds } from '../../src/resources/all-kinds.ts'
import { apiVersionOf } from '../../src/resources/kind.ts'
import type { ContractServer } from './contract-server.ts'
import { acceptedManifests } from './core-manifests.ts'
import { onEachServer } from './on-each-server.ts'

// The answers were recorded from a real server: vitest run -u --project kubernetes
// tests/kubernetes/core-updates.test.ts
const answers = (name: string) => `./answers/core-updates/${name}.txt`

type Fields = Record<string, unknown>

/** By kind and name of a manifest: changes, each of which must be allowed or refused. */
const changes: Readonly<Record<string, readonly Fields[]>> = {
  'Deployment/d1': [
    { spec: { selector: { matchLabels: { x: 'y' } }, template: { metadata: { labels: { x: 'y' } } } } },
    { spec: { replicas: 3 } },
    { spec: { template: { spec: { containers: [{ name: 'main', image: 'registry.lab-1.localhost/z' }] } } } },
    { spec: { replicas: -1 } },
  ],
  'ReplicaSet/r1': [
    { spec: { selector: { matchLabels: { x: 'y' } }, template: { metadata: { labels: { x: 'y' } } } } },
    { spec: { replicas: 3 } },
  ],
  'StatefulSet/st1': [
    { spec: { serviceName: 'q' } },
    { spec: { podManagementPolicy: 'Parallel' } },
    { spec: { replicas: 4 } },
  ],
  'Job/j1': [
    { spec: { template: { spec: { restartPolicy: 'OnFailure' } } } },
    { spec: { completions: 4 } },
    { spec: { completionMode: 'Indexed' } },
    { spec: { parallelism: 4 } },
  ],
  'Job/j3': [
    { spec: { podFailurePolicy: { rules: [] } } },
    { spec: { backoffLimitPerIndex: 2 } },
    { spec: { maxFailedIndexes: 1 } },
    { spec: { successPolicy: { rules: [{ succeededCount: 1 }] } } },
  ],
  'Pod/p2': [
    { spec: { restartPolicy: 'Never' } },
    { spec: { tolerations: [] } },
    { spec: { activeDeadlineSeconds: 10 } },
    { spec: { terminationGracePeriodSeconds: 5 } },
    { metadata: { labels: { a: 'b' } } },
  ],
  'Secret/s1': [{ type: 'x' }, { data: { b: 'AA==' } }],
  'ConfigMap/c2': [
    { data: { a: 'c' } },
    { immutable: false },
    { binaryData: { x: 'AA==' } },
    { metadata: { labels: { a: 'b' } } },
  ],
  'PersistentVolumeClaim/pvc2': [
    { spec: { accessModes: ['ReadWriteMany'] } },
    { spec: { volumeName: 'y' } },
    { spec: { resources: { requests: { storage: '2Gi' } } } },
    { spec: { storageClassName: 'q' } },
  ],
  'PersistentVolumeClaim/pvc1': [{ spec: { storageClassName: 'q' } }, { spec: { volumeName: 'y' } }],
  'PersistentVolume/pv1': [
    { spec: { hostPath: { path: '/y' } } },
    { spec: { persistentVolumeReclaimPolicy: 'Delete' } },
    { spec: { volumeMode: 'Block' } },
    { spec: { capacity: { storage: '5Gi' } } },
  ],
  'RoleBinding/rb1': [{ roleRef: { name: 'other' } }, { subjects: [] }],
  'ClusterRoleBinding/crb1': [{ roleRef: { name: 'other' } }],
  'StorageClass/sc1': [
    { provisioner: 'q/r' },
    { parameters: { a: 'b' } },
    { reclaimPolicy: 'Retain' },
    { volumeBindingMode: 'WaitForFirstConsumer' },
    { allowVolumeExpansion: true },
  ],
  'RuntimeClass/rc1': [{ handler: 'x' }, { overhead: { podFixed: { cpu: '1' } } }],
  'EndpointSlice/es1': [{ addressType: 'IPv6', endpoints: [] }, { endpoints: [] }],
  'NetworkPolicy/np1': [
    { spec: { podSelector: { matchLabels: { a: 'b' } } } },
    { spec: { egress: [{}] } },
    { spec: { policyTypes: null } },
    { spec: { policyTypes: null, egress: [{}] } },
    { spec: { podSelector: null } },
    { spec: { policyTypes: ['x'] } },
  ],
  'Lease/l1': [{ spec: { leaseTransitions: 5 } }, { spec: { leaseTransitions: -5 } }],
  'ResourceQuota/rq': [{ spec: { hard: { cpu: '2' } } }],
  'ServiceAccount/sa1': [{ secrets: [{ name: 'x' }] }],
}

function collectionOf(server: ContractServer, apiVersion: string, kind: string): string {
  const found = coreKinds.find((each) => apiVersionOf(each) === apiVersion && each.kind === kind)
  if (found?.namespaced) return server.path(found.plural, apiVersion)
  return `${apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`}/${found?.plural}`
}

onEachServer((server) => {
  it.each(Object.entries(changes))('changes %s only where it may', async (key, patches) => {
    const [kind = '', name = ''] = key.split('/')
    const manifest = acceptedManifests.find((each) => each.kind === kind && each.metadata?.['name'] === name)
    // Cluster-scoped objects need a unique name.
    const unique = `${name}-${server.namespace}`
    const collection = collectionOf(server, manifest?.apiVersion ?? '', kind)
    const created = { ...manifest, metadata: { ...manifest?.metadata, name: unique } }
    await server.ok('POST', collection, JSON.stringify(created).replaceAll('"default"', `"${server.namespace}"`), {
      headers: { 'content-type': 'application/json' },
    })
    const lines: string[] = []
    for (const patch of patches) {
      const { code, body } = await server.patch(`${collection}/${unique}?dryRun=All`, 'merge', patch)
      const { causes = [] } = (body['details'] ?? {}) as { causes?: Array<{ field: string; reason: string }> }
      const { generation } = (body['metadata'] ?? {}) as { generation?: number }
      const found = new Set(causes.map(({ field, reason }) => `${field} ${reason}`))
      lines.push(
        JSON.stringify(patch),
        `  ${code} generation ${generation ?? '-'}`,
        ...[...found].sort().map((line) => `  ${line}`),
      )
    }
    await server.http('DELETE', `${collection}/${unique}?gracePeriodSeconds=0`)
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(answers(key.replace('/', '-')))
  })

  it('shows the same columns of every kind', async () => {
    const lines: string[] = []
    for (const kind of coreKinds.filter(({ verbs }) => verbs === undefined)) {
      const apiVersion = apiVersionOf(kind)
      const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
      const table = await server.ok('GET', `${root}/${kind.plural}?limit=1`, undefined, { headers: { accept } })
      const columns = table['columnDefinitions'] as Array<{
        name: string
        type: string
        format: string
        priority: number
      }>
      lines.push(`${apiVersion} ${kind.kind}`)
      for (const { name, type, format, priority } of columns)
        lines.push(`  ${name} | ${type} | ${format} | ${priority}`)
    }
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(answers('columns'))
  })
})
