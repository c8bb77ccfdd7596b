import { hasCoreSchema, coreSchema } from '../../resources/facts/core-facts.ts'
import { StatusError } from '../../resources/status-error.ts'
import { mostValues } from '../bodies/body-values.ts'
import { readProtobufObject } from './protobuf-object.ts'
import { ProtobufError, type WireValue, bytesOf, fieldsOf, textOf } from './protobuf-wire.ts'

export const protobufType = 'application/vnd.kubernetes.protobuf'

const magic = Buffer.from('k8s\0')

/**
 * Decodes a body in Kubernetes' protobuf envelope into JSON. Some clients (`kubectl create`, Helm's releases) send
 * Kubernetes' own kinds like this, whatever a server prefers. Answers are always JSON, which they accept.
 */
export function readProtobuf(body: Buffer, most = mostValues): Record<string, unknown> {
  try {
    if (!body.subarray(0, magic.length).equals(magic)) throw new ProtobufError('the prefix is missing')
    const envelope = byNumber(body.subarray(magic.length))
    const type = byNumber(bytesOf(envelope.get(1) ?? Buffer.alloc(0)))
    const apiVersion = textOf(type.get(1) ?? Buffer.alloc(0))
    const kind = textOf(type.get(2) ?? Buffer.alloc(0))
    const content = readContent(apiVersion, kind, bytesOf(envelope.get(2) ?? Buffer.alloc(0)), most)
    if (content) return { apiVersion, kind, ...content }
    const shown = `${apiVersion} ${kind}`.trim().slice(0, 200)
    const message = `${shown || 'this kind'} is not served in ${protobufType} - accepted media types include: application/json`
    throw new StatusError('UnsupportedMediaType', message)
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    throw new StatusError('BadRequest', `the body is not valid protobuf: ${error.message}`, {}, { cause: error })
  }
}

function readContent(apiVersion: string, kind: string, raw: Buffer, most: number): Record<string, unknown> | undefined {
  const slash = apiVersion.indexOf('/')
  // DeleteOptions carry the group of what is deleted, but are always the same type.
  const isOptions = kind === 'DeleteOptions'
  const group = isOptions || slash < 0 ? '' : apiVersion.slice(0, slash)
  const version = isOptions ? 'v1' : apiVersion.slice(slash + 1)
  if (!hasCoreSchema(group, version, kind)) return undefined
  return readProtobufObject(coreSchema(group, version, kind), raw, most)
}

/** For messages whose fields occur once. */
function byNumber(bytes: Buffer): ReadonlyMap<number, WireValue> {
  const fields = new Map<number, WireValue>()
  for (const { number, value } of fieldsOf(bytes)) fields.set(number, value)
  return fields
}
