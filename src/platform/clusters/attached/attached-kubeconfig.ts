import { z } from 'zod'
import { errorMessage } from '../../../foundation/errors.ts'

const userSchema = z.looseObject({ name: z.string(), user: z.looseObject({}).nullish() })
const clusterSchema = z.looseObject({ name: z.string(), cluster: z.looseObject({ server: z.string() }) })
const configSchema = z.looseObject({
  'current-context': z.string(),
  clusters: z.array(clusterSchema).min(1),
  users: z.array(userSchema).default([]),
})

/** Refused: these would let the author of the Secret run programs here, or read this machine's files. */
const refusedForUser = ['exec', 'auth-provider', 'authProvider', 'tokenFile', 'client-certificate', 'client-key']
const refusedForCluster = ['certificate-authority', 'insecure-skip-tls-verify']

/**
 * Why a kubeconfig from a Secret cannot be used; `undefined` if it can. It must not refer to anything outside itself.
 */
export async function kubeconfigFault(text: string): Promise<string | undefined> {
  const { parse } = await import('yaml')
  let config
  try {
    // No aliases: a kubeconfig needs none, and they can be used to make a small text grow without bounds.
    config = configSchema.parse(parse(text, { maxAliasCount: 0 }))
  } catch (error) {
    const what = error instanceof z.ZodError ? `${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}` : ''
    return `it is no kubeconfig: ${what || errorMessage(error).split('\n')[0]}`
  }
  for (const { name, user } of config.users) {
    const refused = refusedForUser.find((field) => user?.[field] !== undefined)
    if (refused)
      return `the user ${name} has ${refused}; only tokens and certificates that are in the kubeconfig are used`
  }
  for (const { name, cluster } of config.clusters) {
    const refused = refusedForCluster.find((field) => cluster[field] !== undefined && cluster[field] !== false)
    if (refused) return `the cluster ${name} has ${refused}; put its authority into certificate-authority-data`
  }
  return undefined
}
