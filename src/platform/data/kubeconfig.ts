export interface KubeconfigFacts {
  readonly server: string
  /** The server name for the TLS handshake, for clusters that share an address. */
  readonly tlsServerName?: string | undefined
  readonly ca: string
  readonly token: string
  readonly clusterId: string
  readonly namespace: string
}

/** A kubeconfig that contains everything, so that it can be copied elsewhere. */
export function renderKubeconfig(facts: KubeconfigFacts): string {
  // Written by hand, since a YAML library is too much to load at a start for twenty lines. JSON strings are valid in
  // YAML.
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
