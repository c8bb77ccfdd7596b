import { randomBytes } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { type Secret, secretKind } from '../../resources/secret.ts'
import { isStatusError } from '../../resources/status-error.ts'

/**
 * The Secret with the key that the controller and the gateways prove themselves to each other with, and encrypt with.
 * Deleting it makes a new one; streams that are open go on with the old one.
 */
const secretName = 'sluice-demand'
const field = 'key'
const keyBytes = 32

/** The name under which the key is used; there is only this one. */
export const keyIdentity = 'sluice-demand'

/** Both ends have the key, so neither needs a certificate. Each stream has further keys of its own. */
export const keyedTls = {
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
} satisfies SecureContextOptions

/** Makes the key if there is none. Several may try at once; one of them makes it. */
export async function ensureDemandKey(client: ClusterClient, namespace: string, signal: AbortSignal): Promise<void> {
  const ref = { namespace, name: secretName }
  if (keyIn(await client.get(secretKind, ref, signal))) return
  const data = { [field]: randomBytes(keyBytes).toString('base64') }
  try {
    await client.create(secretKind, { metadata: ref, type: 'Opaque', data }, signal)
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error
    const found = keyIn(await client.get(secretKind, ref, signal))
    // Somebody made a Secret of this name that is none of ours.
    if (!found) await client.patch(secretKind, ref, { data }, signal)
  }
}

/** The key as the cache has it; undefined while there is none. */
export function demandKey(secrets: ObjectCache<Secret>, namespace: string): Buffer | undefined {
  return keyIn(secrets.get({ namespace, name: secretName }))
}

function keyIn(secret: Secret | undefined): Buffer | undefined {
  const key = Buffer.from(secret?.data?.[field] ?? '', 'base64')
  return key.length === keyBytes ? key : undefined
}
