import { configMap, model } from './objects.ts'

/** One request; the path is relative to the test's namespace. */
export interface Step {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'GET'
  readonly group: string
  readonly path: string
  readonly type?: string
  readonly body?: unknown
}

type Body = Readonly<Record<string, unknown>>

const apps = 'apps/v1'
const ours = 'sluice.dev/v1'
const image = 'registry.lab-1.localhost/app:1'
const types = { merge: 'merge-patch+json', json: 'json-patch+json', strategic: 'strategic-merge-patch+json' } as const

const apply = (manager: string, path: string, body: unknown, group = 'v1'): Step => ({
  method: 'PATCH',
  group,
  path: `${path}?fieldManager=${manager}`,
  type: 'application/apply-patch+yaml',
  body,
})
const force = (manager: string, path: string, body: unknown, group = 'v1'): Step =>
  apply(`${manager}&force=true`, path, body, group)
const create = (manager: string, path: string, body: unknown, group = 'v1'): Step => ({
  method: 'POST',
  group,
  path: `${path}?fieldManager=${manager}`,
  body,
})
const patch = (how: keyof typeof types, manager: string, path: string, body: unknown, group = 'v1'): Step => ({
  method: 'PATCH',
  group,
  path: `${path}?fieldManager=${manager}`,
  type: `application/${types[how]}`,
  body,
})
const get = (path: string, group = 'v1'): Step => ({ method: 'GET', group, path })

const data = (values: Body, metadata: Body = {}) => ({
  ...configMap('a'),
  metadata: { name: 'a', ...metadata },
  data: values,
})
const deployment = (spec: Body, metadata: Body = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', ...metadata },
  spec,
})
const whole = (spec: Body = {}, container: Body = {}) =>
  deployment({
    selector: { matchLabels: { app: 'd' } },
    template: { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'main', image, ...container }] } },
    ...spec,
  })
const env = (names: string) => ({ env: names.split('').map((name) => ({ name, value: '1' })) })
const withContainer = (container: Body, metadata: Body = {}) =>
  deployment({ template: { spec: { containers: [container] } } }, metadata)
const service = (spec: Body) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec })
const scale = (replicas: number) => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name: 'd' },
  spec: { replicas },
})
const pod = (metadata: Body, spec: Body) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', ...metadata },
  spec,
})
const partModel = (spec: Body | undefined, metadata: Body = {}) => ({
  apiVersion: ours,
  kind: 'Model',
  metadata: { name: 'm', ...metadata },
  ...(spec && { spec }),
})
const at = '2030-01-01T00:00:00Z'

/** What is sent. The answers are in answers/server-side-apply, recorded from a real kube-apiserver. */
export const scenarios: Readonly<Record<string, readonly Step[]>> = {
  'a ConfigMap shared, fought over and given up': [
    apply('one', 'configmaps/a', data({ x: '1' })),
    apply('two', 'configmaps/a', data({ x: '1', y: '2' })),
    apply('three', 'configmaps/a', data({ x: '2' })),
    force('three', 'configmaps/a', data({ x: '2' })),
    apply('two', 'configmaps/a', configMap('a')),
    apply('three', 'configmaps/a', configMap('a')),
  ],
  'a ConfigMap that others patch': [
    create(
      'maker',
      'configmaps',
      data({ x: '1', y: '1' }, { labels: { l: '1' }, annotations: { n: '1' }, finalizers: ['a.b/c'] }),
    ),
    patch('merge', 'merger', 'configmaps/a', { data: { x: '2', z: '3' }, metadata: { labels: { q: '1' } } }),
    patch('json', 'patcher', 'configmaps/a', [
      { op: 'remove', path: '/data/y' },
      { op: 'add', path: '/metadata/annotations/p', value: '1' },
    ]),
    apply('one', 'configmaps/a', data({ x: '9' })),
    force('one', 'configmaps/a', data({ x: '9' }, { finalizers: ['a.b/c', 'd.e/f'] })),
    patch('strategic', 'strategist', 'configmaps/a', { data: { x: '10' } }),
    apply('one', 'configmaps/a', data({ x: '10' })),
    patch('merge', 'merger', 'configmaps/a', { metadata: { finalizers: null } }),
  ],
  'owners, each by its uid': [
    create(
      'maker',
      'configmaps',
      data({}, { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u1' }] }),
    ),
    apply(
      'one',
      'configmaps/a',
      data({}, { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'p', uid: 'u2' }] }),
    ),
    apply('one', 'configmaps/a', data({})),
  ],
  'managers that are forgotten': [
    create('maker', 'configmaps', data({ x: '1' })),
    patch('merge', 'maker', 'configmaps/a', { metadata: { managedFields: [{}] } }),
    patch('merge', 'later', 'configmaps/a', { data: { x: '2' } }),
    apply('one', 'configmaps/a', data({ x: '3', y: '1' })),
    apply('one', 'configmaps/a', data({ x: '2', y: '1' })),
    patch('merge', 'later', 'configmaps/a', { metadata: { managedFields: [] } }),
  ],
  'a Deployment of several managers': [
    create(
      'maker',
      'deployments',
      whole(
        { replicas: 1 },
        {
          ports: [{ containerPort: 80 }, { containerPort: 81, protocol: 'UDP' }],
          ...env('E'),
          resources: { requests: { cpu: '1' } },
        },
      ),
      apps,
    ),
    apply('one', 'deployments/d', whole({ replicas: 2 }), apps),
    force('one', 'deployments/d', whole({ replicas: 2 }, { ports: [{ containerPort: 80, name: 'web' }] }), apps),
    apply('two', 'deployments/d', withContainer({ name: 'side', image, ...env('Z') }, { labels: { t: '1' } }), apps),
    apply('two', 'deployments/d', withContainer({ name: 'side', image }), apps),
    apply('two', 'deployments/d', deployment({}), apps),
    apply('one', 'deployments/d', whole(), apps),
    patch('merge', 'scaler', 'deployments/d/scale', { spec: { replicas: 5 } }, apps),
    get('deployments/d', apps),
    patch('merge', 'reporter', 'deployments/d/status', { status: { replicas: 4 } }, apps),
    apply('ready', 'deployments/d/status', { ...deployment({ replicas: 9 }), status: { readyReplicas: 2 } }, apps),
  ],
  'a Deployment and its scale, both applied': [
    apply('one', 'deployments/d', whole({ replicas: 2 }), apps),
    apply('scaler', 'deployments/d/scale', scale(5), apps),
    force('scaler', 'deployments/d/scale', scale(5), apps),
    get('deployments/d', apps),
    apply('one', 'deployments/d', whole({ replicas: 2 }), apps),
    apply('one', 'deployments/d', whole(), apps),
  ],
  'the order of items': [
    apply('one', 'deployments/d', whole({}, env('ABC')), apps),
    apply('two', 'deployments/d', withContainer({ name: 'main', ...env('XBYA') }), apps),
    apply('one', 'deployments/d', whole({}, env('CNA')), apps),
    apply('two', 'deployments/d', withContainer({ name: 'main', ...env('BAX') }), apps),
  ],
  'a Service whose ports are named by number and protocol': [
    apply(
      'one',
      'services/s',
      service({
        selector: { a: 'b' },
        ports: [
          { port: 80, name: 'w' },
          { port: 81, name: 'x', targetPort: 'y' },
        ],
      }),
    ),
    apply(
      'two',
      'services/s',
      service({
        ports: [
          { port: 82, name: 'z' },
          { port: 80, protocol: 'UDP', name: 'u' },
        ],
      }),
    ),
    apply('two', 'services/s', service({ ports: [{ port: 80, name: 'other' }] })),
    apply('one', 'services/s', service({ selector: { a: 'c' }, ports: [{ port: 81, name: 'x', targetPort: 'y' }] })),
  ],
  'a Pod, its image applied and its status reported': [
    create(
      'maker',
      'pods',
      pod(
        {},
        {
          containers: [{ name: 'main', image, volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
          volumes: [{ name: 'v', emptyDir: {} }],
        },
      ),
    ),
    apply('one', 'pods/p', pod({ labels: { x: 'y' } }, { containers: [{ name: 'main', image: `${image}2` }] })),
    force('one', 'pods/p', pod({ labels: { x: 'y' } }, { containers: [{ name: 'main', image: `${image}2` }] })),
    patch('strategic', 'node', 'pods/p/status', {
      status: {
        phase: 'Running',
        podIP: '10.0.0.1',
        podIPs: [{ ip: '10.0.0.1' }],
        conditions: [{ type: 'Ready', status: 'True', lastProbeTime: at, lastTransitionTime: at }],
      },
    }),
  ],
  'a Secret whose text is folded in': [
    create('maker', 'secrets', { metadata: { name: 'a' }, stringData: { a: 'b' } }),
    apply('one', 'secrets/a', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, stringData: { c: 'd' } }),
  ],
  'a Model of several managers': [
    apply('one', 'models/m', model('m', { args: ['--a'] }), ours),
    apply('two', 'models/m', partModel({ maxReplicas: 3 }, { labels: { a: 'b' } }), ours),
    apply('two', 'models/m', partModel({ args: ['--b'] }), ours),
    patch('merge', 'merger', 'models/m', { spec: { owner: 'x', imagePullSecrets: ['q'] } }, ours),
    apply('three', 'models/m', partModel({ owner: 'z', imagePullSecrets: ['q'] }), ours),
    apply('two', 'models/m', partModel(undefined), ours),
    patch('merge', 'scaler', 'models/m/scale', { spec: { replicas: 2 } }, ours),
    get('models/m', ours),
    patch(
      'merge',
      'reporter',
      'models/m/status',
      { status: { phase: 'Ready', replicas: 2, conditions: [{ type: 'A', status: 'True' }] } },
      ours,
    ),
    apply('ready', 'models/m/status', { ...model('m'), status: { readyReplicas: 1 } }, ours),
  ],
  'a Model that was there before anybody applied': [
    create('maker', 'models', { ...model('m', { owner: 'k' }), metadata: { name: 'm', labels: { a: 'b' } } }, ours),
    apply('one', 'models/m', model('m', { owner: 'k' }), ours),
    apply('one', 'models/m', partModel(undefined), ours),
  ],
  'items that were named twice before': [
    create('maker', 'deployments', whole({}, env('EEF')), apps),
    apply('one', 'deployments/d', whole({}, { env: [{ name: 'E', value: '3' }] }), apps),
  ],
  refusals: [
    { ...apply('', 'configmaps/a', configMap('a')), path: 'configmaps/a' },
    apply('one', 'configmaps/a', configMap('b')),
    apply('one', 'configmaps/a', { metadata: { name: 'a' } }),
    apply('one', 'configmaps/a', { ...configMap('a'), kind: 'Secret' }),
    apply('one', 'configmaps/a', data({}, { managedFields: [] })),
    apply('one', 'configmaps/a', { apiVersion: 'v1', kind: 'ConfigMap' }),
    apply('one', 'configmaps/a', data({}, { uid: 'u' })),
    apply('one&dryRun=All', 'configmaps/a', data({ x: '1' })),
    get('configmaps/a'),
    apply('one', 'deployments/d/scale', scale(1), apps),
    apply('one', 'configmaps/a', data({ x: '1' })),
    apply('one', 'configmaps/a', data({ x: '1' }, { resourceVersion: '1' })),
    { ...patch('merge', 'one', 'configmaps/a', {}), path: 'configmaps/a?force=true' },
    create('m'.repeat(129), 'configmaps', configMap('b')),
    apply('one&fieldValidation=Strict', 'configmaps/a', 'apiVersion: v1\nkind: ConfigMap\ndata:\n  x: "1"\n  x: "2"\n'),
    apply(
      'one&fieldValidation=Strict',
      'configmaps/a',
      '{"apiVersion":"v1","kind":"ConfigMap",\n"data":{"x":"1","x":"2"}}',
    ),
    apply('one', 'configmaps/a', 'apiVersion: v1\nkind: ConfigMap\ndata:\n  x: "1"\n  x: "2"\n'),
  ],
}
