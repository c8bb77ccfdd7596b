import { type KeyObject, createPrivateKey, createPublicKey, generateKeyPairSync, hash, sign, verify } from 'node:crypto'
import { type JsonObject, isJsonObject } from '../../../resources/json-value.ts'

const longestToken = 16 * 1024

/** Signs and verifies JSON web tokens with ES256 only: a token cannot choose how it is verified. */
export class SigningKey {
  readonly #private: KeyObject
  readonly #public: KeyObject
  /** The key ID that tokens name in their header. */
  readonly id: string

  /** PEM of a private key on the curve P-256. */
  constructor(pem: string) {
    this.#private = createPrivateKey(pem)
    this.#public = createPublicKey(this.#private)
    if (this.#private.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('the key must be one of P-256')
    this.id = hash('sha256', this.#public.export({ type: 'spki', format: 'der' }), 'base64url')
  }

  static generatePem(): string {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  }

  /** Throws when the PEM is not a usable key. */
  static check(pem: string): void {
    void new SigningKey(pem)
  }

  sign(claims: JsonObject): string {
    const text = `${encode({ alg: 'ES256', kid: this.id })}.${encode(claims)}`
    return `${text}.${sign('sha256', Buffer.from(text), this.#options(this.#private)).toString('base64url')}`
  }

  /** The claims of a token that was signed with this key; `undefined` for anything else. */
  verify(token: string): JsonObject | undefined {
    const [head = '', claims = '', signature = '', ...rest] = token.length > longestToken ? [] : token.split('.')
    if (rest.length > 0 || signature === '') return undefined
    const header = decode(head)
    if (header?.['alg'] !== 'ES256' || header['kid'] !== this.id) return undefined
    const bytes = Buffer.from(signature, 'base64url')
    const good = verify('sha256', Buffer.from(`${head}.${claims}`), this.#options(this.#public), bytes)
    return good ? decode(claims) : undefined
  }

  /** The public key, as it is published in the JSON web key set. */
  get webKey(): JsonObject {
    const { kty, crv, x, y } = this.#public.export({ format: 'jwk' })
    return { use: 'sig', kty, kid: this.id, crv, alg: 'ES256', x, y }
  }

  #options(key: KeyObject) {
    return { key, dsaEncoding: 'ieee-p1363' as const }
  }
}

function encode(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function decode(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
