import { resolve } from 'node:path'
import { z } from 'zod'

/** Certificates and keys stand in a kubeconfig, or in files beside it. */
export type Material = { readonly text: string } | { readonly file: string }

export interface KubeconfigCluster {
  readonly server: string
  readonly authority?: Material | undefined
  /** The name that the server's certificate has, if it is not that of its address. */
  readonly serverName?: string | undefined
  readonly skipsVerification?: boolean | undefined
  readonly proxyUrl?: string | undefined
}

export interface KubeconfigUser {
  readonly token?: string | undefined
  readonly tokenFile?: string | undefined
  readonly password?: string | undefined
  readonly username?: string | undefined
  readonly certificate?: Material | undefined
  readonly key?: Material | undefined
  /** Whether another program or service makes its credentials. */
  readonly hasProvider?: boolean | undefined
}

const text = z.string().nullish()

const clusterSchema = z.looseObject({
  server: z.string(),
  'certificate-authority': text,
  'certificate-authority-data': text,
  'insecure-skip-tls-verify': z.boolean().nullish(),
  'tls-server-name': text,
  'proxy-url': text,
})
const userSchema = z.looseObject({
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  exec: z.unknown().optional(),
  'auth-provider': z.unknown().optional(),
})
const configSchema = z.looseObject({
  'current-context': text,
  contexts: z
    .array(z.looseObject({ name: z.string(), context: z.looseObject({ cluster: z.string(), user: text }) }))
    .nullish(),
  clusters: z.array(z.looseObject({ name: z.string(), cluster: clusterSchema })).nullish(),
  users: z.array(z.looseObject({ name: z.string(), user: userSchema.nullish() })).nullish(),
})

/** The cluster and the user of a kubeconfig's context; of its current one, if none is named. */
export async function readKubeconfig(
  content: string,
  folder: string,
  context?: string,
): Promise<{ readonly cluster: KubeconfigCluster; readonly user: KubeconfigUser }> {
  const parsed = configSchema.safeParse(await parse(content))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new Error(`the kubeconfig is malformed: ${issue?.path.join('.')}: ${issue?.message}`)
  }
  const { contexts, clusters, users } = parsed.data
  const current = contexts?.find(({ name }) => name === (context ?? parsed.data['current-context']))?.context
  const cluster = clusters?.find(({ name }) => name === current?.cluster)?.cluster
  if (!current || !cluster) {
    const names = contexts?.map(({ name }) => name) ?? []
    throw new Error(missingCluster(context, names))
  }
  const user = users?.find(({ name }) => name === current.user)?.user ?? {}
  return { cluster: clusterOf(cluster, folder), user: userOf(user, folder) }
}

export function missingCluster(context: string | undefined, known: readonly string[] = []): string {
  if (context === undefined) return 'the kubeconfig has no current cluster'
  return `the kubeconfig has no cluster for the context ${context}${known.length === 0 ? '' : `; it has ${known.join(', ')}`}`
}

/** Many kubeconfigs are JSON, for which the YAML library, which stays in memory, is not needed. */
async function parse(content: string): Promise<unknown> {
  if (content.trimStart().startsWith('{')) {
    try {
      return JSON.parse(content)
    } catch {
      // YAML may begin so, too.
    }
  }
  return (await import('yaml')).parse(content)
}

function clusterOf(cluster: z.infer<typeof clusterSchema>, folder: string): KubeconfigCluster {
  return {
    server: cluster.server,
    authority: materialOf(cluster['certificate-authority-data'], cluster['certificate-authority'], folder),
    serverName: cluster['tls-server-name'] || undefined,
    skipsVerification: cluster['insecure-skip-tls-verify'] ?? false,
    proxyUrl: cluster['proxy-url'] || undefined,
  }
}

function userOf(user: z.infer<typeof userSchema>, folder: string): KubeconfigUser {
  return {
    token: user.token || undefined,
    tokenFile: user.tokenFile ? resolve(folder, user.tokenFile) : undefined,
    username: user.username || undefined,
    password: user.password || undefined,
    certificate: materialOf(user['client-certificate-data'], user['client-certificate'], folder),
    key: materialOf(user['client-key-data'], user['client-key'], folder),
    hasProvider: user.exec != null || user['auth-provider'] != null,
  }
}

function materialOf(
  data: string | null | undefined,
  file: string | null | undefined,
  folder: string,
): Material | undefined {
  if (data) return { text: Buffer.from(data, 'base64').toString('utf8') }
  return file ? { file: resolve(folder, file) } : undefined
}
