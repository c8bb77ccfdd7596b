import { createHash } from 'node:crypto'
import type { Kind } from '../../resources/kind.ts'
import type { Phases } from '../writing/write-phases.ts'
import { jsonPieces } from './json-pieces.ts'
import { openApiV2Document } from './openapi.ts'
import { encodeOpenApiV2 } from './openapi-v2-protobuf.ts'
import { chooseMediaType } from '../answers/representation.ts'

/** A document, encoded for sending. */
export interface EncodedDocument {
  readonly type: string
  readonly bytes: Buffer
  /** The same for every encoding of the same document. */
  readonly etag: string
}

const jsonType = 'application/json'
const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
/** What clients up to 1.27 ask for. A media type must not contain `@`, so the answer uses the other name. */
const olderProtobufType = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
const offered = [jsonType, protobufType, olderProtobufType]

/**
 * Encoded on request and kept until the kinds change, which makes another array. Only the encoding that was last asked
 * for: Go clients ask for protobuf, and hardly anybody for JSON.
 */
const kept = new WeakMap<readonly Kind[], EncodedDocument>()

/** The media type of the encoding that the client accepts. */
export function openApiV2Type(accept: string | undefined): string {
  return chooseMediaType(accept, offered) === jsonType ? jsonType : protobufType
}

/** `/openapi/v2`, in the encoding that the client accepts. */
export function* openApiV2Answer(kinds: readonly Kind[], accept: string | undefined): Phases<EncodedDocument> {
  const type = openApiV2Type(accept)
  const known = kept.get(kinds)
  if (known?.type === type) return known
  const document = yield* openApiV2Document(kinds)
  const digest = createHash('sha512')
  const json: Buffer[] = []
  yield* jsonPieces(document, (text) => {
    const piece = Buffer.from(text)
    digest.update(piece)
    if (type === jsonType) json.push(piece)
  })
  const etag = `"${digest.digest('hex').toUpperCase()}"`
  const made = { type, bytes: type === jsonType ? Buffer.concat(json) : yield* encodeOpenApiV2(document), etag }
  kept.set(kinds, made)
  return made
}
