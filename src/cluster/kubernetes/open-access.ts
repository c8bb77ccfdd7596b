import { existsSync, readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { ClusterAccess } from './cluster-access.ts'
import { type KubeconfigUser, readKubeconfig } from './kubeconfig-file.ts'
import { PlainAccess } from './plain-access.ts'

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * The access of a kubeconfig's context; of its current one, if none is named. Paths in it are relative to the folder.
 */
export async function accessOfKubeconfig(text: string, folder: string, context?: string): Promise<ClusterAccess> {
  const { cluster, user } = await readKubeconfig(text, folder, context)
  if (!needsLibrary(cluster.proxyUrl, user)) return new PlainAccess(cluster, user)
  return (await import('./library-access.ts')).libraryAccess((config) => config.loadFromString(text), {
    folder,
    context,
  })
}

export async function accessOfFile(path: string, context?: string): Promise<ClusterAccess> {
  return accessOfKubeconfig(readFileSync(path, 'utf8'), dirname(path), context)
}

/** As kubectl finds it: by the environment, by the home folder, or from inside a Pod. */
export async function usualAccess(
  environment: NodeJS.ProcessEnv = process.env,
  context?: string,
): Promise<ClusterAccess> {
  const [first, ...others] = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  // Several files are merged, which has rules of its own.
  if (others.length > 0)
    return (await import('./library-access.ts')).libraryAccess((config) => config.loadFromDefault(), { context })
  if (first !== undefined) return accessOfFile(first, context)
  const own = join(environment['HOME'] ?? homedir(), '.kube', 'config')
  if (existsSync(own)) return accessOfFile(own, context)
  return accessFromInside(environment, serviceAccountFolder)
}

/** What every Pod gets: the address in its environment, and a token that is renewed in a file. */
export function accessFromInside(environment: NodeJS.ProcessEnv, folder: string): ClusterAccess {
  const [host, port] = [environment['KUBERNETES_SERVICE_HOST'], environment['KUBERNETES_SERVICE_PORT']]
  const tokenFile = join(folder, 'token')
  if (!host || !port || !existsSync(tokenFile)) {
    throw new Error('there is no kubeconfig, and this is no Pod with a service account')
  }
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`
  return new PlainAccess({ server, authority: { file: join(folder, 'ca.crt') } }, { tokenFile })
}

/** Programs that make tokens and proxies are left to Kubernetes' library, which takes 60 MB of memory. */
function needsLibrary(proxyUrl: string | undefined, user: KubeconfigUser): boolean {
  return proxyUrl !== undefined || user.hasProvider === true
}
