/** Manifests that are small and valid on every server. */
export const configMap = (name: string, fields: Record<string, unknown> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...fields,
})

export const labelled = (name: string, labels: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels },
})

export const pod = (name: string, image: string, spec: Record<string, unknown> = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name } },
  spec: { containers: [{ name: 'main', image, env: [{ name: 'A', value: '1' }] }], ...spec },
})

export const deployment = (name: string, image: string, spec: Record<string, unknown> = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image }] } },
    ...spec,
  },
})

export const model = (name: string, spec: Record<string, unknown> = {}) => ({
  apiVersion: 'sluice.dev/v1',
  kind: 'Model',
  metadata: { name },
  spec: { url: 'pvc://userdata/models/smollm2', engine: 'LlamaCpp', ...spec },
})
