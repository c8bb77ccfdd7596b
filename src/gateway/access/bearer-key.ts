import { createHash, randomBytes } from 'node:crypto'

/** An API key for inference: the access key finds it, the secret proves it. */
export interface BearerKey {
  readonly accessKey: string
  readonly secret: string
}

/** The prefix of OpenAI's own keys, so that scanners for leaked keys find ours too. */
const keyPattern = /^sk-([A-Za-z0-9]{8,128})-([A-Za-z0-9_-]{16,256})$/
const headerPattern = /^Bearer +([!-~]{1,512})$/i

export function generateBearerKey(): BearerKey {
  return { accessKey: randomBytes(10).toString('hex'), secret: randomBytes(32).toString('base64url') }
}

/** The form in which clients send it: `sk-<access key>-<secret>`. */
export function bearerKeyText({ accessKey, secret }: BearerKey): string {
  return `sk-${accessKey}-${secret}`
}

/** The key in an `Authorization` header, or `undefined` if it is not exactly one well-formed key. */
export function readBearerKey(header: string | undefined): BearerKey | undefined {
  const text = header === undefined ? undefined : headerPattern.exec(header)?.[1]
  const [, accessKey, secret] = (text === undefined ? undefined : keyPattern.exec(text)) ?? []
  return accessKey === undefined || secret === undefined ? undefined : { accessKey, secret }
}

/** A plain hash is enough: secrets are long and random, so they cannot be guessed from it. */
export function secretDigest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
