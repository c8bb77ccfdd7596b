export interface KubeconfigFacts {
  readonly server: string
  /** By which the server is called in the handshake, where its address does not say which cluster is meant. */
  readonly tlsServerName?: string | undefined
  readonly ca: string
  readonly token: string
  readonly clusterId: string
  readonly namespace: string
}

/** A kubeconfig with everything inside, so that the file can be copied elsewhere. */
export function renderKubeconfig(facts: KubeconfigFacts): string {
  // Written by hand: a library for YAML is more than a start should load for twenty lines. A JSON string is one in YAML
  // too.
  const [server, name, token, namespace] = [facts.server, facts.clusterId, facts.token, facts.namespace].map((value) =>
    JSON.stringify(value),
  )
  const serverName =
    facts.tlsServerName === undefined ? '' : `\n      tls-server-name: ${JSON.stringify(facts.tlsServerName)}`
  return `apiVersion: v1
kind: Config
clusters:
  - name: ${name}
    cluster:
      server: ${server}${serverName}
      certificate-authority-data: ${Buffer.from(facts.ca).toString('base64')}
users:
  - name: admin
    user:
      token: ${token}
contexts:
  - name: ${name}
    context:
      cluster: ${name}
      user: admin
      namespace: ${namespace}
current-context: ${name}
`
}
