import { createHash, randomBytes } from 'node:crypto'

/** A key of the inference endpoints: what it is looked up by, and what proves it. */
export interface BearerKey {
  readonly accessKey: string
  readonly secret: string
}

/** OpenAI's own keys begin alike, so that tools which look for leaked keys find ours too. */
const keyPattern = /^sk-([A-Za-z0-9]{8,128})-([A-Za-z0-9_-]{16,256})$/
const headerPattern = /^Bearer +([!-~]{1,512})$/i

export function generateBearerKey(): BearerKey {
  return { accessKey: randomBytes(10).toString('hex'), secret: randomBytes(32).toString('base64url') }
}

/** What its owner sends: `sk-<access key>-<secret>`. */
export function bearerKeyText({ accessKey, secret }: BearerKey): string {
  return `sk-${accessKey}-${secret}`
}

/** The key in an `Authorization` header; `undefined` for anything else than one well-formed key. */
export function readBearerKey(header: string | undefined): BearerKey | undefined {
  const text = header === undefined ? undefined : headerPattern.exec(header)?.[1]
  const [, accessKey, secret] = (text === undefined ? undefined : keyPattern.exec(text)) ?? []
  return accessKey === undefined || secret === undefined ? undefined : { accessKey, secret }
}

/** Secrets are long and random: a plain hash of one cannot be guessed back. */
export function secretDigest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
