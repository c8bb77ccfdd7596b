import { KubeConfig } from '@kubernetes/client-node'
import type { ClusterAccess } from './cluster-access.ts'
import { missingCluster } from './kubeconfig-file.ts'

/** Access by Kubernetes' own library, for what we do not do ourselves: programs that make tokens, and proxies. */
export function libraryAccess(
  load: (config: KubeConfig) => void,
  { folder, context }: { readonly folder?: string | undefined; readonly context?: string | undefined } = {},
): ClusterAccess {
  const config = new KubeConfig()
  load(config)
  if (context !== undefined) config.setCurrentContext(context)
  if (folder !== undefined) config.makePathsAbsolute(folder)
  const cluster = config.getCurrentCluster()
  if (!cluster) throw new Error(missingCluster(context))
  return {
    server: cluster.server,
    proxied: Boolean(cluster.proxyUrl),
    apply: (options) => config.applyToHTTPSOptions(options),
  }
}
