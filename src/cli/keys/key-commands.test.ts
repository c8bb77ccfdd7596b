import { describe, expect, it } from 'vitest'
import type { ApiKey } from '../../resources/api-key.ts'
import { accessKeyListing } from '../access-keys/access-key-list.ts'
import { overlapOf } from '../access-keys/access-key-rotate.ts'
import { findCommand } from '../commands.ts'
import { expiryOf } from './key-expiry.ts'
import { renderList } from '../output/print-output.ts'
import { keyListing } from './key-list.ts'

const now = Date.UTC(2030, 0, 1)

describe('--expires', () => {
  it.each([
    ['90d', now + 90 * 86_400_000],
    ['12h', now + 12 * 3_600_000],
    ['30m', now + 30 * 60_000],
    ['2031-01-31', Date.UTC(2031, 0, 31)],
    ['2031-01-31T10:00:00+02:00', Date.UTC(2031, 0, 31, 8)],
  ])('%s', (text, at) => {
    expect(expiryOf(text, now)).toBe(at)
  })

  it.each(['', '90', '0d', '2029-12-31', '2031-13-01', 'tomorrow', '-1d', '2031-01-31T10:00:00'])(
    'refuses "%s"',
    (text) => {
      expect(() => expiryOf(text, now)).toThrow('--expires: ')
    },
  )
})

describe('sluice key', () => {
  it('has its three commands', () => {
    for (const name of ['create', 'list', 'revoke']) {
      expect(findCommand(['key', name, 'x'])).toMatchObject({ command: { name: `key ${name}` }, rest: ['x'] })
    }
  })

  it('lists keys with what they allow and whether they still do', async () => {
    const key = (name: string, spec: Partial<ApiKey['spec']>): ApiKey => ({
      apiVersion: 'sluice.dev/v1',
      kind: 'ApiKey',
      metadata: { name, creationTimestamp: '2029-12-01T00:00:00Z' },
      spec: {
        enterprise: 'home',
        accessKey: 'abc',
        secretSha256: '0'.repeat(64),
        disabled: false,
        use: 'Inference',
        ...spec,
      },
    })
    const keys = [
      key('a', {}),
      key('old', { expiresAt: '2029-12-31T00:00:00Z', allowedModels: ['x', 'y'] }),
      key('off', { disabled: true }),
    ]
    expect((await renderList(keys, keyListing(now), undefined)).text.trimEnd().split('\n')).toEqual([
      'NAME   KEY        MODELS   STATE      EXPIRES                CREATED',
      'a      sk-abc-…   all      active     never                  2029-12-01T00:00:00Z',
      'old    sk-abc-…   x,y      expired    2029-12-31T00:00:00Z   2029-12-01T00:00:00Z',
      'off    sk-abc-…   all      disabled   never                  2029-12-01T00:00:00Z',
    ])
    expect((await renderList([], keyListing(now), undefined)).hint).toContain('sluice key create')
  })
})

describe('sluice access-key', () => {
  it('has its four commands', () => {
    for (const name of ['create', 'list', 'disable', 'rotate']) {
      expect(findCommand(['access-key', name, 'x'])).toMatchObject({ command: { name: `access-key ${name}` } })
    }
  })

  it('lists key pairs and in which state they are', async () => {
    const key = (name: string, spec: Partial<ApiKey['spec']>): ApiKey => ({
      apiVersion: 'sluice.dev/v1',
      kind: 'ApiKey',
      metadata: { name, creationTimestamp: '2029-12-01T00:00:00Z' },
      spec: {
        enterprise: 'home',
        accessKey: 'SLK1',
        secretSha256: '0'.repeat(64),
        disabled: false,
        use: 'Management',
        ...spec,
      },
    })
    const previousSecret = { sha256: '1'.repeat(64), expiresAt: '2030-01-02T00:00:00Z' }
    const keys = [
      key('a', {}),
      key('b', { previousSecret }),
      key('c', { previousSecret: { ...previousSecret, expiresAt: '2029-12-31T00:00:00Z' } }),
      key('d', { disabled: true, previousSecret }),
      key('e', { expiresAt: '2029-12-31T00:00:00Z' }),
    ]
    const states = ['active', 'rotating until 2030-01-02T00:00:00Z', 'active', 'disabled', 'expired']
    const lines = (await renderList(keys, accessKeyListing(now), undefined)).text.trimEnd().split('\n')
    expect(lines.slice(1).map((line) => line.split(/ {2,}/)[3])).toEqual(states)
    expect((await renderList([], accessKeyListing(now), undefined)).hint).toContain('sluice access-key create')
  })

  it.each([
    ['24h', 86_400_000],
    ['30m', 1_800_000],
    ['0', 0],
  ])('overlaps for %s', (text, ms) => {
    expect(overlapOf(text)).toBe(ms)
  })

  it.each(['', '24', '91d', '-1h', 'soon'])('refuses the overlap "%s"', (text) => {
    expect(() => overlapOf(text)).toThrow('--overlap: ')
  })
})
