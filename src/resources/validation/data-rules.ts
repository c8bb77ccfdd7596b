import { type FieldError, faultsOfEach, invalid, required, tooLong } from '../field-error.ts'
import { type Json, fieldIn, objectIn, textIn } from './json-access.ts'
import { checkDataKey } from './name-syntax.ts'

const largestData = 1024 * 1024

export function checkConfigMap(configMap: Json): FieldError[] {
  const [data, binary] = [objectIn(configMap, 'data') ?? {}, objectIn(configMap, 'binaryData') ?? {}]
  const texts = faultsOfEach(Object.keys(data), (key) => {
    const syntax = checkDataKey(`data[${key}]`, key)
    const isTwice = Object.hasOwn(binary, key)
    return isTwice ? [...syntax, invalid(`data[${key}]`, key, 'duplicate of key present in binaryData')] : syntax
  })
  const bytes = faultsOfEach(Object.keys(binary), (key) => checkDataKey(`binaryData[${key}]`, key))
  const errors = [...texts, ...bytes]
  // A real API server names no field here.
  const size = sizeOf(data, (value) => Buffer.byteLength(value)) + sizeOf(binary, decodedSize)
  return size > largestData ? [...errors, tooLong('[]', largestData)] : errors
}

/** The keys that each type of Secret must have. */
const neededKeys: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
}
const accountAnnotation = 'kubernetes.io/service-account.name'

export function checkSecret(secret: Json): FieldError[] {
  const data = objectIn(secret, 'data') ?? {}
  const type = textIn(secret, 'type')
  const errors = faultsOfEach(Object.keys(data), (key) => checkDataKey(`data[${key}]`, key))
  const size = sizeOf(data, decodedSize)
  if (size > largestData) errors.push(tooLong('data', largestData))
  for (const key of neededKeys[type] ?? []) {
    const value = fieldIn(data, key)
    if (value === undefined) errors.push(required(`data[${key}]`))
    else if (key.startsWith('.') && !holdsJson(value)) {
      errors.push(invalid(`data[${key}]`, '<secret contents redacted>', 'must be valid json'))
    }
  }
  if (type === 'kubernetes.io/basic-auth' && !('username' in data) && !('password' in data)) {
    errors.push(required('data[username]'), required('data[password]'))
  }
  if (type === 'kubernetes.io/service-account-token') {
    const account = textIn(objectIn(objectIn(secret, 'metadata'), 'annotations'), accountAnnotation)
    if (account === '') errors.push(required(`metadata.annotations[${accountAnnotation}]`))
  }
  return errors
}

function sizeOf(data: Json, measure: (value: string) => number): number {
  return Object.values(data).reduce<number>((sum, value) => sum + (typeof value === 'string' ? measure(value) : 0), 0)
}

function decodedSize(value: string): number {
  let end = value.length
  while (value[end - 1] === '=') end -= 1
  return Math.floor((end * 3) / 4)
}

function holdsJson(value: unknown): boolean {
  try {
    JSON.parse(Buffer.from(String(value), 'base64').toString('utf8'))
    return true
  } catch {
    return false
  }
}
