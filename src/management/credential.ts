import type { KeyPair } from './key-pair.ts'

/** `plain Credential=<ACCESS_KEY>,Signature=<SECRET_KEY>` and nothing else. */
const headerPattern = /^plain Credential=([\x21-\x2b\x2d-\x7e]{1,256}),Signature=([\x21-\x2b\x2d-\x7e]{1,256})$/

/** `undefined` unless there is exactly one header of that form. */
export function parseCredential(headers: readonly string[] | undefined): KeyPair | undefined {
  const [value, ...others] = headers ?? []
  if (value === undefined || others.length > 0) return undefined
  const [, accessKey, secretKey] = headerPattern.exec(value) ?? []
  return accessKey === undefined || secretKey === undefined ? undefined : { accessKey, secretKey }
}
