import { stringify } from 'yaml'

export interface KubeconfigFacts {
  readonly server: string
  readonly ca: string
  readonly token: string
  readonly clusterId: string
  readonly namespace: string
}

/** A kubeconfig with everything inside, so that the file can be copied elsewhere. */
export function renderKubeconfig(facts: KubeconfigFacts): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: facts.clusterId,
        cluster: {
          server: facts.server,
          'certificate-authority-data': Buffer.from(facts.ca).toString('base64'),
        },
      },
    ],
    users: [{ name: 'admin', user: { token: facts.token } }],
    contexts: [
      { name: facts.clusterId, context: { cluster: facts.clusterId, user: 'admin', namespace: facts.namespace } },
    ],
    'current-context': facts.clusterId,
  })
}
