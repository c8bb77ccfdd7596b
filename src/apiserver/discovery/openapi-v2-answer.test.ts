import { describe, expect, it } from 'vitest'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { Kind } from '../../resources/kind.ts'
import { finish } from '../writing/write-phases.ts'
import * as answer from './openapi-v2-answer.ts'
import { readOpenApiV2 } from './openapi-v2-reader.fixture.ts'

const kinds = [...coreKinds, ...customKinds]
const openApiV2Answer = (of: readonly Kind[], accept: string | undefined) => finish(answer.openApiV2Answer(of, accept))
const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'

describe('the answer to /openapi/v2', () => {
  it('says the same in both forms, under one tag', () => {
    const binary = openApiV2Answer(kinds, protobuf)
    const text = openApiV2Answer(kinds, 'application/json')
    expect(binary.etag).toBe(text.etag)
    const expected = text.bytes.toString().replaceAll(/"minimum":0,|,"minimum":0(?=\})/g, '')
    expect(readOpenApiV2(binary.bytes)).toEqual(JSON.parse(expected))
  })

  it('is made once, until the kinds change', () => {
    const first = openApiV2Answer(kinds, protobuf)
    expect(openApiV2Answer(kinds, protobuf)).toBe(first)
    const fewer = openApiV2Answer(
      kinds.filter(({ kind }) => kind !== 'Model'),
      protobuf,
    )
    expect(fewer.etag).not.toBe(first.etag)
    expect(openApiV2Answer([...kinds], protobuf).etag).toBe(first.etag)
  })

  it('keeps one form only', () => {
    const first = openApiV2Answer(kinds, protobuf)
    openApiV2Answer(kinds, undefined)
    expect(openApiV2Answer(kinds, protobuf)).not.toBe(first)
  })

  it('says nothing of what is known to this server alone', () => {
    expect(openApiV2Answer(kinds, undefined).bytes.toString()).not.toContain('x-sluice')
  })

  it('names the forms that there are when it has none to give', () => {
    const refused = () => openApiV2Answer(kinds, 'application/vnd.kubernetes.protobuf')
    expect(refused).toThrow(StatusError)
    expect(refused).toThrow('application/json, application/com.github.proto-openapi.spec.v2.v1.0+protobuf')
  })
})
