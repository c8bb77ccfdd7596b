import { createHash, randomBytes } from 'node:crypto'
import type { ApiKey } from '../resources/api-key.ts'

export interface KeyPair {
  readonly accessKey: string
  readonly secretKey: string
}

export function generateKeyPair(): KeyPair {
  return {
    accessKey: `SLK${randomBytes(12).toString('hex').toUpperCase()}`,
    secretKey: randomBytes(32).toString('base64url'),
  }
}

/** What is stored of a key pair. Of the secret, only a hash is. */
export function apiKeySpec({ accessKey, secretKey }: KeyPair, enterprise: string): ApiKey['spec'] {
  return {
    enterprise,
    accessKey,
    secretSha256: secretDigest(secretKey).toString('hex'),
    disabled: false,
    use: 'Management',
  }
}

export function secretDigest(secretKey: string): Buffer {
  return createHash('sha256').update(secretKey).digest()
}
