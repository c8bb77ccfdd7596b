/** A kind of objects that the benches write, about 0.9 kB each as JSON. */
export interface BenchKind {
  readonly name: string
  readonly path: string
  make(name: string): Record<string, unknown>
  patch(value: number): Record<string, unknown>
}

export const namespace = 'bench'

export const configMaps: BenchKind = {
  name: 'ConfigMap',
  path: `/api/v1/namespaces/${namespace}/configmaps`,
  make: (name) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { app: 'bench', shard: name.slice(-1) } },
    data: { first: 'x'.repeat(350), second: 'y'.repeat(350), name },
  }),
  patch: (value) => ({ data: { second: `changed ${value}` } }),
}

export const widgets: BenchKind = {
  name: 'custom resource',
  path: `/apis/bench.sluice.dev/v1/namespaces/${namespace}/widgets`,
  make: (name) => ({
    apiVersion: 'bench.sluice.dev/v1',
    kind: 'Widget',
    metadata: { name, labels: { app: 'bench', shard: name.slice(-1) } },
    spec: {
      url: `pvc://models/${name}`,
      minReplicas: 0,
      maxReplicas: 3,
      args: ['--first', '--second=2', '--third'],
      env: { FIRST: 'x'.repeat(250), SECOND: 'y'.repeat(250) },
    },
  }),
  patch: (value) => ({ spec: { maxReplicas: (value % 5) + 1 } }),
}

const text = (maxLength: number) => ({ type: 'string', maxLength })

export const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.bench.sluice.dev' },
  spec: {
    group: 'bench.sluice.dev',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['url'],
                'x-kubernetes-validations': [
                  { rule: 'self.minReplicas <= self.maxReplicas', message: 'minReplicas may not be above maxReplicas' },
                ],
                properties: {
                  url: { ...text(512), 'x-kubernetes-validations': [{ rule: "self.startsWith('pvc://')" }] },
                  minReplicas: { type: 'integer', minimum: 0, default: 0 },
                  maxReplicas: { type: 'integer', minimum: 1, default: 1 },
                  args: { type: 'array', maxItems: 64, items: text(512) },
                  env: { type: 'object', additionalProperties: text(512) },
                },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
}
