import { createHash } from 'node:crypto'
import type { Kind } from '../../resources/kind.ts'
import { openApiV2Document } from './openapi.ts'
import { encodeOpenApiV2 } from './openapi-v2-protobuf.ts'
import { chooseMediaType } from '../answers/representation.ts'

/** A document in the form it is sent in. */
export interface EncodedDocument {
  readonly type: string
  readonly bytes: Buffer
  /** The same for every form of the same document. */
  readonly etag: string
}

const jsonType = 'application/json'
const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
/** What clients up to 1.27 ask for; no media type may have an `@`, so the answer is called by the other name. */
const olderProtobufType = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
const offered = [jsonType, protobufType, olderProtobufType]

/**
 * Made when somebody asks, and kept until the kinds change: a change makes another list of them. One form only, the one
 * that was asked for last: clients of Go ask for protobuf, and hardly anybody for JSON.
 */
const kept = new WeakMap<readonly Kind[], EncodedDocument>()

/** `/openapi/v2`, in the form that the client takes. */
export function openApiV2Answer(kinds: readonly Kind[], accept: string | undefined): EncodedDocument {
  const type = chooseMediaType(accept, offered) === jsonType ? jsonType : protobufType
  const known = kept.get(kinds)
  if (known?.type === type) return known
  const document = openApiV2Document(kinds)
  const json = Buffer.from(JSON.stringify(document))
  const etag = known?.etag ?? `"${createHash('sha512').update(json).digest('hex').toUpperCase()}"`
  const made = { type, bytes: type === jsonType ? json : encodeOpenApiV2(document), etag }
  kept.set(kinds, made)
  return made
}
