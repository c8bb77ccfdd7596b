import { expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'
import { refusedManifests } from './refused-manifests.ts'

// The answers were recorded from a real server: vitest run -u --project kubernetes
// tests/kubernetes/network-policies.test.ts
const group = 'networking.k8s.io/v1'

onEachServer((server) => {
  it('says in the same words what is wrong with a NetworkPolicy', async () => {
    const lines: string[] = []
    for (const manifest of refusedManifests.filter(({ kind }) => kind === 'NetworkPolicy')) {
      const { body } = await server.http('POST', `${server.path('networkpolicies', group)}?dryRun=All`, manifest)
      lines.push(typeof body['message'] === 'string' ? body['message'] : 'taken')
    }
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./answers/network-policies/refusals.txt')
  })

  it('shows whom a NetworkPolicy is about, under its short name', async () => {
    const resources = await server.ok('GET', `/apis/${group}`)
    expect(resources['resources']).toContainEqual(
      expect.objectContaining({ name: 'networkpolicies', kind: 'NetworkPolicy', shortNames: ['netpol'] }),
    )
    const policy = (name: string, podSelector: object) =>
      server.ok('POST', server.path('networkpolicies', group), {
        apiVersion: group,
        kind: 'NetworkPolicy',
        metadata: { name },
        spec: { podSelector },
      })
    await policy('all', {})
    const matchExpressions = [{ key: 'tier', operator: 'NotIn', values: ['c', 'b'] }]
    await policy('some', { matchLabels: { app: 'web' }, matchExpressions })
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    const table = await server.ok('GET', server.path('networkpolicies', group), undefined, { headers: { accept } })
    expect(table['rows']).toMatchObject([
      { cells: ['all', '<none>', expect.any(String)] },
      { cells: ['some', 'app=web,tier notin (b,c)', expect.any(String)] },
    ])
  })
})
