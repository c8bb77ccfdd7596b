import { describe, expect, it } from 'vitest'
import { machinePlatform, parsePlatform, platformFits } from './archives/image-platform.ts'
import { parseReference, referenceName, storedNames } from './image-reference.ts'

const digest = `sha256:${'a'.repeat(64)}`

describe("an image's name", () => {
  it.each([
    ['busybox', 'docker.io/library/busybox:latest'],
    ['busybox:1', 'docker.io/library/busybox:1'],
    ['user/tool', 'docker.io/user/tool:latest'],
    ['docker.io/busybox', 'docker.io/library/busybox:latest'],
    ['index.docker.io/user/tool:1.2-x_y', 'docker.io/user/tool:1.2-x_y'],
    ['localhost/x', 'localhost/x:latest'],
    ['localhost:5000/x:y', 'localhost:5000/x:y'],
    ['registry.local-1.localhost/a/b/c:1', 'registry.local-1.localhost/a/b/c:1'],
    ['[::1]:5000/x', '[::1]:5000/x:latest'],
    [`x@${digest}`, `docker.io/library/x@${digest}`],
    [`r.test:5000/x:1@${digest}`, `r.test:5000/x:1@${digest}`],
  ])('%s is %s', (text, name) => {
    const reference = parseReference(text)
    expect(reference && referenceName(reference)).toBe(name)
  })

  it.each([
    '',
    'X',
    'a//b',
    '/a',
    'a/',
    'a:',
    'a:-x',
    'a@sha256:1',
    'a b',
    '../a',
    'a/../b',
    `r.test/${'a'.repeat(300)}`,
    'r.test:x/a',
    '-.test/a',
    'a\nb',
    `a@md5:${'a'.repeat(32)}`,
  ])('%j is none', (text) => {
    expect(parseReference(text)).toBeUndefined()
  })

  it('is decided in time that does not explode with its length', () => {
    for (const text of [`${'a-'.repeat(50_000)}!`, `r${'.a'.repeat(50_000)}!/x`, `x:${'a'.repeat(100_000)}`])
      expect(parseReference(text)).toBeUndefined()
  })

  it("of a Pod may be any image's behind the registry of the compute center", () => {
    expect(storedNames('r.test/ghcr.io/a/b:1', 'r.test').map(referenceName)).toEqual([
      'r.test/ghcr.io/a/b:1',
      'ghcr.io/a/b:1',
    ])
    expect(storedNames('r.test/web', 'r.test').map(referenceName)).toEqual([
      'r.test/web:latest',
      'docker.io/library/web:latest',
    ])
    expect(storedNames('other.test/web', 'r.test')).toHaveLength(1)
  })
})

describe('a platform', () => {
  it('is named as Go names it', () => {
    expect([machinePlatform('x64'), machinePlatform('arm64')]).toEqual([
      { os: 'linux', architecture: 'amd64' },
      { os: 'linux', architecture: 'arm64' },
    ])
    expect(['linux/arm/v7', 'linux', 'a/b/c/d', '/x'].map(parsePlatform)).toEqual([
      { os: 'linux', architecture: 'arm', variant: 'v7' },
      undefined,
      undefined,
      undefined,
    ])
  })

  it('fits where nothing speaks against it', () => {
    const arm = { os: 'linux', architecture: 'arm64' }
    expect(platformFits({ ...arm, variant: 'v8' }, arm)).toBe(true)
    expect(platformFits({ ...arm, variant: 'v8' }, { ...arm, variant: 'v9' })).toBe(false)
    expect(platformFits({ os: 'windows', architecture: 'arm64' }, arm)).toBe(false)
  })
})
