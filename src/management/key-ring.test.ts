import * as fc from 'fast-check'
import { timingSafeEqual } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { ApiKey } from '../resources/api-key.ts'
import { HeldObjects } from '../resources/object-cache.ts'
import { parseCredential } from './credential.ts'
import { apiKeySpec, generateKeyPair, secretDigest } from './key-pair.ts'
import { KeyRing } from './key-ring.ts'

const pair = generateKeyPair()
const older = generateKeyPair()

function ringOf(more: Partial<ApiKey['spec']> = {}) {
  const keys = new HeldObjects<ApiKey>()
  const spec = { ...apiKeySpec(pair, 'acme'), ...more }
  keys.put({ apiVersion: 'sluice.dev/v1', kind: 'ApiKey', metadata: { name: 'billing' }, spec })
  let compared = 0
  const compare = (one: Buffer, other: Buffer) => {
    compared += 1
    return timingSafeEqual(one, other)
  }
  const ring = new KeyRing(keys, () => Date.UTC(2030, 0, 1), compare)
  return { ring, compared: () => compared }
}

const previousSecret = { sha256: secretDigest(older.secretKey).toString('hex'), expiresAt: '2030-01-02T00:00:00Z' }

describe('KeyRing', () => {
  it.each([
    ['a right pair', pair, {}],
    ['a wrong secret', { ...pair, secretKey: 'x'.repeat(43) }, {}],
    ['a secret of another length', { ...pair, secretKey: 'x' }, {}],
    ['all but the last letter', { ...pair, secretKey: `${pair.secretKey.slice(0, -1)}!` }, {}],
    ['an unknown key', generateKeyPair(), {}],
    ['the secret before', { ...pair, secretKey: older.secretKey }, { previousSecret }],
    ['a wrong secret while there are two', { ...pair, secretKey: 'x' }, { previousSecret }],
    ['a disabled key', pair, { disabled: true }],
    ['an expired key', pair, { expiresAt: '2029-01-01T00:00:00Z' }],
  ])('does the same work for %s: two whole comparisons', (_what, presented, more) => {
    const { ring, compared } = ringOf(more)
    ring.judge(presented)
    expect(compared()).toBe(2)
  })

  it('knows the secret before for as long as it may go on, and no longer', () => {
    const before = { ...pair, secretKey: older.secretKey }
    expect(ringOf({ previousSecret }).ring.judge(before)).toMatchObject({ outcome: 'right', enterprise: 'acme' })
    const over = { ...previousSecret, expiresAt: '2029-12-31T00:00:00Z' }
    expect(ringOf({ previousSecret: over }).ring.judge(before)).toEqual({ outcome: 'wrong', name: 'billing' })
    const unreadable = { ...previousSecret, expiresAt: 'soon' }
    expect(ringOf({ previousSecret: unreadable }).ring.judge(before)).toMatchObject({ outcome: 'wrong' })
    expect(ringOf({ previousSecret }).ring.judge(pair)).toMatchObject({ outcome: 'right' })
  })
})

/** Valid keys and secrets: visible ASCII without a comma. */
const word = fc.stringMatching(/^[\x21-\x2b\x2d-\x7e]{1,64}$/)

describe('the header Authorization', () => {
  it('is read as it was written, whatever the pair', () => {
    fc.assert(
      fc.property(word, word, (accessKey, secretKey) => {
        expect(parseCredential([`plain Credential=${accessKey},Signature=${secretKey}`])).toEqual({
          accessKey,
          secretKey,
        })
      }),
    )
  })

  it('is refused in any other form: nothing before, between, behind or instead', () => {
    const edit = fc.record({ at: fc.nat({ max: 100 }), removed: fc.nat({ max: 3 }), put: fc.string({ maxLength: 3 }) })
    fc.assert(
      fc.property(word, word, edit, (accessKey, secretKey, { at, removed, put }) => {
        const whole = `plain Credential=${accessKey},Signature=${secretKey}`
        const place = at % (whole.length + 1)
        const changed = whole.slice(0, place) + put + whole.slice(place + removed)
        const read = parseCredential([changed])
        // If it can still be parsed, it must be exactly what was written.
        const written = read && `plain Credential=${read.accessKey},Signature=${read.secretKey}`
        expect([undefined, changed]).toContain(written)
      }),
      { numRuns: 2_000 },
    )
  })

  it('is refused for anything at all that is not of the form, and when there are two', () => {
    const form = /^plain Credential=[^\s,]+,Signature=[^\s,]+$/
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        fc.pre(!form.test(text))
        expect(parseCredential([text])).toBeUndefined()
      }),
    )
    const header = `plain Credential=${pair.accessKey},Signature=${pair.secretKey}`
    expect(parseCredential([header, header])).toBeUndefined()
    expect(parseCredential([])).toBeUndefined()
    expect(parseCredential(undefined)).toBeUndefined()
  })
})
