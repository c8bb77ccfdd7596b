import { type HostileInput, many, post, rbac } from './hostile-calls.fixture.ts'

const rule = (width: number, seed: number) => ({
  verbs: many(width, 1, (i) => `v${seed}-${i}`),
  apiGroups: many(width, 1, (i) => `g${i}`),
  resources: many(width, 1, (i) => `r${i}`),
})

export const hostileAccess: readonly HostileInput[] = [
  {
    name: 'a role of 2,500 rules of 36x36x36',
    attack: (share) => post(`${rbac}/roles`, { rules: many(2_500, share, (i) => rule(36, i)) }),
  },
  {
    name: 'a role of very many rules',
    attack: (share) =>
      post(`${rbac}/roles`, {
        rules: many(40_000, share, (i) => ({ verbs: ['get'], apiGroups: [''], resources: [`r${i}`] })),
      }),
  },
  {
    name: 'a role of very many held rules',
    attack: (share) =>
      post(`${rbac}/roles`, {
        rules: many(40_000, share, () => ({ verbs: ['get'], apiGroups: [''], resources: ['pods'] })),
      }),
  },
  {
    name: 'a role of one very wide rule',
    attack: (share) =>
      post(`${rbac}/roles`, {
        rules: [
          {
            verbs: many(90_000, share, (i) => `v${i}`),
            apiGroups: many(90_000, share, (i) => `g${i}`),
            resources: many(90_000, share, (i) => `r${i}`),
          },
        ],
      }),
  },
  {
    name: 'a role of very many names',
    attack: (share) =>
      post(`${rbac}/roles`, {
        rules: [
          { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: many(200_000, share, (i) => `n${i}`) },
        ],
      }),
  },
  {
    name: 'a cluster role of very many paths',
    attack: (share) =>
      post(
        '/apis/rbac.authorization.k8s.io/v1/clusterroles',
        { rules: [{ verbs: ['get'], nonResourceURLs: many(200_000, share, (i) => `/n${i}`) }] },
        'root',
      ),
  },
  {
    name: 'a binding of very many subjects',
    attack: (share) =>
      post(`${rbac}/rolebindings`, {
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
        subjects: many(30_000, share, (i) => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: `u${i}` })),
      }),
  },
  {
    name: 'a review of very many groups',
    attack: (share) =>
      post(
        '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        {
          spec: {
            user: 'x',
            groups: many(250_000, share, (i) => `g${i}`),
            resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'team' },
          },
        },
        'root',
      ),
  },
  {
    name: 'a role of very many aggregations',
    attack: (share) =>
      post(
        '/apis/rbac.authorization.k8s.io/v1/clusterroles',
        { aggregationRule: { clusterRoleSelectors: many(80_000, share, (i) => ({ matchLabels: { a: `v${i}` } })) } },
        'root',
      ),
  },
]
