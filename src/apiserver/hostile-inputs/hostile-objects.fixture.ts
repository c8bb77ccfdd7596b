import { type Content, type HostileInput, core, entries, many, post } from './hostile-calls.fixture.ts'

const container = { name: 'main', image: 'registry/x' }
const pod = (spec: object) => post(`${core}/pods`, { spec: { containers: [container], ...spec } })
const map = (content: Content) => post(`${core}/configmaps`, content)
const deployment = (selector: object, labels: object, spec: object = {}) =>
  post('/apis/apps/v1/namespaces/team/deployments', {
    spec: { selector, template: { metadata: { labels }, spec: { containers: [container], ...spec } } },
  })
export const hostileObjects: readonly HostileInput[] = [
  { name: 'very many keys', attack: (share) => map({ data: entries(200_000, share, (i) => `k${i}`, 'v') }) },
  { name: 'very many bad keys', attack: (share) => map({ data: entries(200_000, share, (i) => `\u00e4${i}`, 'v') }) },
  { name: 'very many unknown fields', attack: (share) => map(entries(200_000, share, (i) => `f${i}`, 1)) },
  { name: 'unknown fields deep in lists', attack: (share) => pod({ volumes: many(200_000, share, () => ({ x: 1 })) }) },
  {
    name: 'very many duplicate fields',
    attack: (share) => ({
      ...map({}),
      body: `{"metadata":{"name":"hostile"},"data":{${many(300_000, share, () => '"a":"b"').join(',')}}}`,
    }),
  },
  {
    name: 'duplicate fields after very many lines',
    share: 1,
    attack: (share) => ({
      ...map({}),
      body: `{"metadata":{"name":"hostile"},${'\n'.repeat(2_900_000 * share)}${many(40, 1, () => '"x":1').join()}}`,
    }),
  },
  {
    name: 'a network policy of very many exceptions',
    attack: (share) =>
      post('/apis/networking.k8s.io/v1/namespaces/team/networkpolicies', {
        spec: {
          podSelector: {},
          ingress: [
            {
              from: [{ ipBlock: { cidr: '10.0.0.0/8', except: many(180_000, share, (i) => `10.0.${i % 256}.0/24`) } }],
            },
          ],
        },
      }),
  },
  {
    name: 'names full of escapes',
    attack: (share) => ({
      ...map({}),
      body: `{"metadata":{"name":"hostile"},"${'\\\\'.repeat(1_400_000 * share)}":1,"b":"${'\\"'.repeat(10)}"}`,
    }),
  },
  {
    name: 'quotes escaped by quotes',
    attack: (share) => ({
      ...map({}),
      body: `{"metadata":{"name":"hostile"},"data":{"a":"${'\\"'.repeat(1_400_000 * share)}"}}`,
    }),
  },
  {
    name: 'lists in lists',
    attack: (share) => ({ ...map({}), body: '['.repeat(1_500_000 * share) + ']'.repeat(1_500_000 * share) }),
  },
  {
    name: 'fields called __proto__',
    attack: (share) => ({
      ...map({}),
      body: `{"metadata":{"name":"hostile","labels":{"__proto__":"x"}},"data":{${many(150_000, share, () => '"__proto__":"b"').join(',')}}}`,
    }),
  },
  {
    name: 'finalizers of nothing',
    attack: (share) => map({ metadata: { finalizers: many(900_000, share, () => '') } }),
  },
  {
    name: 'finalizers that are fine',
    attack: (share) => map({ metadata: { finalizers: many(200_000, share, (i) => `a.b/c${i}`) } }),
  },
  {
    name: 'owners without number',
    attack: (share) =>
      map({
        metadata: {
          ownerReferences: many(40_000, share, (i) => ({
            apiVersion: 'v1',
            kind: 'Pod',
            name: `p${i}`,
            uid: `u${i}`,
            controller: true,
          })),
        },
      }),
  },
  {
    name: 'owners of nothing',
    attack: (share) => map({ metadata: { ownerReferences: many(900_000, share, () => ({})) } }),
  },
  {
    name: 'labels without number',
    attack: (share) => map({ metadata: { labels: entries(200_000, share, (i) => `l${i}`, 'v') } }),
  },
  {
    name: 'bad labels without number',
    attack: (share) => map({ metadata: { labels: entries(200_000, share, (i) => `-${i}`, '-') } }),
  },
  { name: 'a long bad name', attack: (share) => map({ metadata: { name: `${'a.-'.repeat(900_000 * share)}!` } }) },
  {
    name: 'a quantity of digits',
    attack: (share) =>
      pod({ containers: [{ ...container, resources: { limits: { cpu: `${'1'.repeat(2_900_000 * share)}x` } } }] }),
  },
  {
    name: 'quantities without number',
    attack: (share) =>
      pod({ containers: [{ ...container, resources: { limits: entries(100_000, share, (i) => `a.b/c${i}`, '1') } }] }),
  },
  {
    name: 'an image of colons',
    attack: (share) => pod({ containers: [{ ...container, image: `${':'.repeat(2_900_000 * share)}/` }] }),
  },
  {
    name: 'a time of digits',
    attack: (share) => map({ metadata: { creationTimestamp: `2020-01-01T00:00:00.${'1'.repeat(2_900_000 * share)}` } }),
  },
  {
    name: 'containers without number',
    attack: (share) => pod({ containers: many(60_000, share, (i) => ({ ...container, name: `c${i}` })) }),
  },
  { name: 'containers of nothing', attack: (share) => pod({ containers: many(900_000, share, () => ({})) }) },
  {
    name: 'ports of nothing',
    attack: (share) => pod({ containers: [{ ...container, ports: many(900_000, share, () => ({})) }] }),
  },
  {
    name: 'variables without number',
    attack: (share) =>
      pod({
        containers: [{ ...container, env: many(100_000, share, (i) => ({ name: `V${i}`, value: `$(V${i - 1})` })) }],
      }),
  },
  {
    name: 'mounts of nothing',
    attack: (share) => pod({ containers: [{ ...container, volumeMounts: many(900_000, share, () => ({})) }] }),
  },
  {
    name: 'volumes without number',
    attack: (share) => pod({ volumes: many(60_000, share, (i) => ({ name: `v${i}`, emptyDir: {} })) }),
  },
  {
    name: 'tolerations without number',
    attack: (share) => pod({ tolerations: many(60_000, share, (i) => ({ key: `k${i}`, operator: 'Exists' })) }),
  },
  {
    name: 'affinities without number',
    attack: (share) =>
      pod({
        affinity: {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: many(20_000, share, (i) => ({
              topologyKey: 'x',
              labelSelector: { matchLabels: { a: `v${i}` } },
            })),
          },
        },
      }),
  },
  {
    name: 'a selector of very many values',
    attack: (share) =>
      deployment(
        { matchExpressions: [{ key: 'a', operator: 'In', values: many(250_000, share, (i) => `v${i}`) }] },
        { a: 'v1' },
      ),
  },
  {
    name: 'a selector of very many bad values',
    attack: (share) =>
      deployment(
        { matchExpressions: [{ key: 'a', operator: 'In', values: many(400_000, share, () => '-') }] },
        { a: 'v1' },
      ),
  },
  {
    name: 'a selector of very many expressions',
    attack: (share) =>
      deployment(
        { matchExpressions: many(50_000, share, (i) => ({ key: 'a', operator: 'NotIn', values: [`v${i}`] })) },
        { a: 'x' },
      ),
  },
  {
    name: 'a service of very many ports',
    attack: (share) =>
      post(`${core}/services`, {
        spec: { ports: many(60_000, share, (i) => ({ name: `p${i}`, port: (i % 65_535) + 1 })) },
      }),
  },
  {
    name: 'a service of very many address families',
    attack: (share) =>
      post(`${core}/services`, {
        spec: {
          clusterIP: 'None',
          ports: [{ port: 1 }],
          ipFamilies: [...many(300_000, share, () => 'x'), ...many(100_000, share, () => 'IPv4')],
        },
      }),
  },
  {
    name: 'a quota of very many scopes',
    attack: (share) =>
      post(
        `${core}/resourcequotas`,
        { spec: { hard: { pods: '1' }, scopes: many(500_000, share, () => 'x') } },
        'root',
      ),
  },
  {
    name: 'a quota of very many resources',
    attack: (share) =>
      post(`${core}/resourcequotas`, { spec: { hard: entries(90_000, share, (i) => `count/r${i}.x`, '1') } }, 'root'),
  },
  {
    name: 'a set of very many claims and volumes',
    attack: (share) =>
      post('/apis/apps/v1/namespaces/team/statefulsets', {
        spec: {
          serviceName: 'x',
          selector: { matchLabels: { a: 'b' } },
          volumeClaimTemplates: many(25_000, share, (i) => ({ metadata: { name: `c${i}` } })),
          template: {
            metadata: { labels: { a: 'b' } },
            spec: { containers: [container], volumes: many(50_000, share, (i) => ({ name: `v${i}`, emptyDir: {} })) },
          },
        },
      }),
  },
  {
    name: 'a secret of equals signs',
    attack: (share) => post(`${core}/secrets`, { data: { a: `${'='.repeat(2_900_000 * share)}x` } }),
  },
  {
    name: 'a slice of very many endpoints',
    attack: (share) =>
      post(
        '/apis/discovery.k8s.io/v1/namespaces/team/endpointslices',
        {
          addressType: 'IPv4',
          endpoints: many(60_000, share, (i) => ({ addresses: [`10.0.${(i >> 8) & 255}.${i & 255}`] })),
        },
        'root',
      ),
  },
  {
    name: 'a slice of no endpoints',
    attack: (share) =>
      post(
        '/apis/discovery.k8s.io/v1/namespaces/team/endpointslices',
        { addressType: 'IPv4', endpoints: many(900_000, share, () => ({})) },
        'root',
      ),
  },
]
