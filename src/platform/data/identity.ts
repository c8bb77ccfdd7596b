import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { SigningKey } from '../../apiserver/access/identity/signing-key.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { generateKeyPair } from '../../management/key-pair.ts'
import { clusterIdPattern } from '../../resources/cluster.ts'
import { centerCodePattern } from '../../resources/compute-center.ts'
import type { DataFolder } from './data-directory.ts'

/** Cannot be guessed. It is part of control plane addresses, and of the hosts of exposed services. */
export const newClusterId = (): string => `vks${randomName(9)}`

const identitySchema = z.object({
  clusterId: z.string().regex(clusterIdPattern),
  /** The code of the compute center that the cluster is in. */
  center: z.string().regex(centerCodePattern),
  adminToken: z.string().min(32),
})
/** The first versions had the center from a flag of each start, and kept it nowhere. */
const storedIdentitySchema = identitySchema.partial({ center: true })
const credentialsSchema = z.object({
  accessKey: z.string().min(8),
  secretKey: z.string().min(16),
  enterprise: z.string().min(1),
})

/** What identifies this installation. Made at the first start, and never changed. */
export type Identity = z.infer<typeof identitySchema>

/** The key pair of the enterprise that owns the home cluster: the content of credentials.json. */
export type Credentials = z.infer<typeof credentialsSchema>

export function openIdentity(directory: DataFolder, center: string | undefined): Identity {
  const stored = kept(directory, 'identity.json', storedIdentitySchema, () => ({
    clusterId: newClusterId(),
    center: center ?? 'local-1',
    adminToken: randomBytes(32).toString('base64url'),
  }))
  const identity = { ...stored, center: stored.center ?? center ?? 'local-1' }
  if (stored.center === undefined) write(directory, 'identity.json', identity)
  if (center === undefined || center === identity.center) return identity
  // Exposed hosts and image names contain the center, so a cluster cannot move to another one.
  const reason = `this data directory belongs to the center ${identity.center}; leave the flag out, or use another --data.`
  throw new SluiceError('invalid_flag', { flag: '--center', reason })
}

/**
 * The key that signs service account tokens, as PEM. It is stored, since with a new key all tokens would end at a
 * restart.
 */
export function openServiceAccountKey(directory: DataFolder): string {
  const name = 'pki/service-accounts.key'
  directory.folder('pki')
  const text = directory.read(name) ?? SigningKey.generatePem()
  try {
    SigningKey.check(text)
  } catch (error) {
    throw new SluiceError('data_file_unreadable', { path: directory.path(name) }, { cause: error })
  }
  if (directory.read(name) === undefined) directory.write(name, text)
  return text
}

export function openCredentials(directory: DataFolder): Credentials {
  return kept(directory, 'credentials.json', credentialsSchema, () => ({ ...generateKeyPair(), enterprise: 'home' }))
}

function kept<T>(directory: DataFolder, name: string, schema: z.ZodType<T>, make: () => T): T {
  const text = directory.read(name)
  if (text === undefined) {
    const made = make()
    write(directory, name, made)
    return made
  }
  const parsed = schema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new SluiceError('data_file_unreadable', { path: directory.path(name) }, { cause: parsed.error })
}

function write(directory: DataFolder, name: string, content: unknown): void {
  directory.write(name, `${JSON.stringify(content, null, 2)}\n`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Lower-case letters and digits, without those that look alike. */
function randomName(length: number): string {
  const alphabet = 'bcdfghjkmnpqrstvwxz23456789'
  let name = ''
  for (const byte of randomBytes(length)) name += alphabet[byte % alphabet.length] ?? ''
  return name
}
