import {
  type Content,
  type Call,
  type HostileInput,
  apply,
  core,
  entries,
  many,
  post,
  rbac,
} from './hostile-calls.fixture.ts'

const path = `${core}/configmaps/hostile`
const there = (content: Content): Call[] => [post(`${core}/configmaps`, content)]
const deployments = '/apis/apps/v1/namespaces/team/deployments'
const container = { name: 'main', image: 'registry/x' }
const deployment = (spec: object) =>
  post(deployments, {
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [container], ...spec } },
    },
  })
const patch = (type: string, body: unknown, at = path): Call => ({
  method: 'PATCH',
  path: at,
  type,
  body: JSON.stringify(body),
})
const json = (operations: unknown, at = path) => patch('application/json-patch+json', operations, at)
const merge = (body: unknown, at = path) => patch('application/merge-patch+json', body, at)
const strategic = (body: unknown, at = `${deployments}/hostile`) =>
  patch('application/strategic-merge-patch+json', body, at)
const inTemplate = (spec: object) => ({ spec: { template: { spec } } })
const applied = (content: object, at = path, manager = 'me'): Call => ({
  method: 'PATCH',
  path: `${at}?fieldManager=${manager}&force=true`,
  type: apply,
  body: JSON.stringify(content),
})
const map = (content: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'hostile' }, ...content })
const bigMap = (share: number) => there({ data: entries(60_000, share, (i) => `k${i}`, 'v') })
const deepest = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
const env = (most: number, share: number) => many(most, share, (i) => ({ name: `V${i}`, value: 'x' }))

export const hostilePatches: readonly HostileInput[] = [
  {
    name: 'a JSON patch that copies what it copied',
    before: () => there({}),
    attack: () =>
      json([
        { op: 'add', path: '/metadata/annotations', value: { a: { x: 'x'.repeat(100) } } },
        ...many(60, 1, (i) => ({ op: 'copy', from: '/metadata/annotations', path: `/metadata/annotations/c${i}` })),
      ]),
  },
  {
    name: 'a JSON patch of very many additions to a large map',
    before: bigMap,
    attack: (share) => json(many(10_000, share, (i) => ({ op: 'add', path: `/data/n${i}`, value: 'x' }))),
  },
  {
    name: 'a JSON patch of very many removals from a large map',
    before: bigMap,
    attack: (share) => json(many(10_000, share, (i) => ({ op: 'remove', path: `/data/k${i}` }))),
  },
  {
    name: 'a JSON patch of very many tests of a large map',
    before: bigMap,
    attack: (share) => {
      const data = entries(60_000, share, (i) => `k${i}`, 'v')
      return json([
        { op: 'test', path: '/data', value: data },
        ...many(9_999, share, () => ({ op: 'test', path: '/data', value: { k0: 'v' } })),
      ])
    },
  },
  {
    name: 'a JSON patch of very many tests that hold',
    before: bigMap,
    attack: (share) =>
      json(
        many(5_000, share, () => [
          { op: 'copy', from: '/data', path: '/x' },
          { op: 'test', path: '/x', value: {} },
        ]).flat(),
      ),
  },
  {
    name: 'a JSON patch that inserts at the beginning of a long list',
    before: (share) => there({ metadata: { finalizers: many(150_000, share, (i) => `a.b/c${i}`) } }),
    attack: (share) =>
      json(many(10_000, share, (i) => ({ op: 'add', path: '/metadata/finalizers/0', value: `a.b/n${i}` }))),
  },
  {
    name: 'a JSON patch that moves everything to and fro',
    before: bigMap,
    attack: (share) =>
      json(
        many(5_000, share, () => [
          { op: 'move', from: '/data', path: '/binaryData' },
          { op: 'move', from: '/binaryData', path: '/data' },
        ]).flat(),
      ),
  },
  {
    name: 'a JSON patch of a very long path',
    share: 1,
    before: () => there({}),
    attack: (share) => json([{ op: 'add', path: '/a'.repeat(1_400_000 * share), value: 1 }]),
  },
  {
    name: 'a JSON patch that grows by replacing',
    before: () => there({}),
    attack: (share) => json(many(10_000, share, () => ({ op: 'add', path: '/data', value: { a: 'x'.repeat(200) } }))),
  },
  {
    name: 'a merge patch of very many keys',
    before: bigMap,
    attack: (share) => merge({ data: entries(150_000, share, (i) => `n${i}`, 'x') }),
  },
  {
    name: 'a merge patch that removes very many keys',
    before: bigMap,
    attack: (share) => merge({ data: entries(150_000, share, (i) => `k${i}`, null) }),
  },
  { name: 'a merge patch as deep as can be', before: () => there({}), attack: () => merge({ data: deepest(97) }) },
  {
    name: 'a strategic patch of very many variables',
    before: (share) => [deployment({ containers: [{ ...container, env: env(40_000, share) }] })],
    attack: (share) =>
      strategic(
        inTemplate({
          containers: [{ name: 'main', env: many(40_000, share, (i) => ({ name: `V${40_000 - i}`, value: 'y' })) }],
        }),
      ),
  },
  {
    name: 'a strategic patch that orders very many variables',
    before: (share) => [deployment({ containers: [{ ...container, env: env(40_000, share) }] })],
    attack: (share) =>
      strategic(
        inTemplate({
          containers: [
            {
              name: 'main',
              '$setElementOrder/env': many(40_000, share, (i) => ({ name: `V${40_000 - i}` })),
              env: [{ name: 'V1', value: 'z' }],
            },
          ],
        }),
      ),
  },
  {
    name: 'a strategic patch in whose order nothing is found',
    before: () => [deployment({})],
    attack: (share) =>
      strategic(
        inTemplate({
          containers: [
            {
              name: 'main',
              '$setElementOrder/env': many(60_000, share, (i) => ({ name: `V${i}` })),
              env: many(30_000, share, (i) => ({ name: `V${i * 2}`, value: 'z' })),
            },
          ],
        }),
      ),
  },
  {
    name: 'a strategic patch that deletes very many variables',
    before: (share) => [deployment({ containers: [{ ...container, env: env(40_000, share) }] })],
    attack: (share) =>
      strategic(
        inTemplate({
          containers: [{ name: 'main', env: many(40_000, share, (i) => ({ $patch: 'delete', name: `V${i}` })) }],
        }),
      ),
  },
  {
    name: 'a strategic patch that deletes very many finalizers',
    before: (share) => there({ metadata: { finalizers: many(100_000, share, (i) => `a.b/c${i}`) } }),
    attack: (share) =>
      strategic(
        { metadata: { '$deleteFromPrimitiveList/finalizers': many(100_000, share, (i) => `a.b/c${i}`) } },
        path,
      ),
  },
  {
    name: 'a strategic patch of one variable again and again',
    before: () => [deployment({})],
    attack: (share) =>
      strategic(
        inTemplate({ containers: [{ name: 'main', env: many(60_000, share, () => ({ name: 'V', value: 'y' })) }] }),
      ),
  },
  {
    name: 'a strategic patch of retained keys without number',
    before: () => [deployment({})],
    attack: (share) =>
      strategic({ spec: { strategy: { $retainKeys: many(300_000, share, (i) => `k${i}`), type: 'Recreate' } } }),
  },
  {
    name: 'a manifest of very many keys applied over another',
    before: (share) => [applied(map({ data: entries(60_000, share, (i) => `k${i}`, 'v') }), path, 'you')],
    attack: (share) => applied(map({ data: entries(60_000, share, (i) => `n${i}`, 'w') })),
  },
  {
    name: 'a manifest applied again with very many fewer keys',
    before: (share) => [applied(map({ data: entries(60_000, share, (i) => `k${i}`, 'v') }))],
    attack: () => applied(map({ data: { a: 'b' } })),
  },
  {
    name: 'a manifest that conflicts in very many keys',
    before: (share) => [applied(map({ data: entries(60_000, share, (i) => `k${i}`, 'v') }), path, 'you')],
    attack: (share) => ({
      ...applied(map({ data: entries(60_000, share, (i) => `k${i}`, 'w') })),
      path: `${path}?fieldManager=me`,
    }),
  },
  {
    name: 'a manifest of very many named items, in another order',
    before: (share) => [
      applied(
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'hostile' },
          spec: { ports: many(30_000, share, (i) => ({ name: `p${i}`, port: i + 1 })) },
        },
        `${core}/services/hostile`,
        'you',
      ),
    ],
    attack: (share) =>
      applied(
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'hostile' },
          spec: { ports: many(30_000, share, (i) => ({ name: `p${i}`, port: 30_000 - i })) },
        },
        `${core}/services/hostile`,
      ),
  },
  {
    name: 'a manifest that names very many items twice',
    attack: (share) =>
      applied(
        {
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { name: 'hostile' },
          imagePullSecrets: many(100_000, share, () => ({ name: 'x' })),
        },
        `${core}/serviceaccounts/hostile`,
      ),
  },
  {
    name: 'a manifest of very many finalizers, in another order',
    before: (share) => [
      applied(
        map({ metadata: { name: 'hostile', finalizers: many(100_000, share, (i) => `a.b/c${i}`) } }),
        path,
        'you',
      ),
    ],
    attack: (share) =>
      applied(
        map({
          metadata: {
            name: 'hostile',
            finalizers: many(100_000, share, (i) => `a.b/c${Math.ceil(100_000 * share) - 1 - i}`),
          },
        }),
      ),
  },
  {
    name: 'an object that says it has very many managers',
    attack: (share) =>
      post(`${core}/configmaps`, {
        metadata: {
          managedFields: many(20_000, share, (i) => ({
            manager: `m${i}`,
            operation: 'Apply',
            apiVersion: 'v1',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': { [`f:k${i}`]: {} } },
          })),
        },
      }),
  },
  {
    name: 'an object that says it has very many managers that update',
    attack: (share) =>
      post(`${core}/configmaps`, {
        metadata: {
          managedFields: many(20_000, share, (i) => ({
            manager: `m${i}`,
            operation: 'Update',
            apiVersion: 'v1',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': { [`f:k${i}`]: {} } },
          })),
        },
      }),
  },
  {
    name: 'a manifest applied to an object of very many managers',
    before: (share) => [
      post(`${core}/configmaps`, {
        metadata: {
          managedFields: many(15_000, share, (i) => ({
            manager: `m${i}`,
            operation: 'Apply',
            apiVersion: 'v1',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': { [`f:k${i}`]: {} } },
          })),
        },
      }),
      applied(map({ data: { a: 'b' } })),
    ],
    attack: (share) => applied(map({ data: entries(20_000, share, (i) => `k${i}`, 'v') })),
  },
  {
    name: 'a manifest of unknown fields without number',
    attack: (share) =>
      applied(
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'hostile' },
          spec: { containers: many(100_000, share, (i) => ({ name: `c${i}`, x: 1 })) },
        },
        `${core}/pods/hostile`,
      ),
  },
  {
    name: 'a manifest of wrong types without number',
    attack: (share) => applied(map({ data: entries(150_000, share, (i) => `k${i}`, 1) })),
  },
  {
    name: 'an update of a role of very many rules',
    before: (share) => [
      {
        ...post(`${rbac}/roles`, {
          rules: many(500, share, (i) => ({ verbs: ['get'], apiGroups: [''], resources: [`r${i}`] })),
        }),
        user: 'root',
      },
    ],
    attack: (share) =>
      json(
        many(10_000, share, (i) => ({
          op: 'add',
          path: '/rules/-',
          value: { verbs: ['get'], apiGroups: [''], resources: [`n${i}`] },
        })),
        `${rbac}/roles/hostile`,
      ),
  },
]
