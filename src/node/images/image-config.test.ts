import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { imageCommand, imageEnvironment, readImageConfig, usualPath } from './image-config.ts'
import { findImageUser } from './roots/image-user.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-image-config-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const documentOf = (config: unknown) =>
  Buffer.from(JSON.stringify({ os: 'linux', architecture: 'amd64', config, rootfs: { type: 'layers', diff_ids: [] } }))

describe("a container's command", () => {
  const config = readImageConfig(documentOf({ Entrypoint: ['/entry'], Cmd: ['cmd'] }))
  it.each<[string, string[] | undefined, string[] | undefined, string[]]>([
    ['nothing', undefined, undefined, ['/entry', 'cmd']],
    ['empty lists', [], [], ['/entry', 'cmd']],
    ['args', undefined, ['arg'], ['/entry', 'arg']],
    ['a command', ['own'], undefined, ['own']],
    ['both', ['own'], ['arg'], ['own', 'arg']],
  ])('is as in Kubernetes where a Pod says %s', (_, command, args, words) => {
    const { fromImage, fromContainer } = imageCommand(config, command, args)
    expect([...fromImage, ...fromContainer]).toEqual(words)
  })

  it('may be the arguments of an image alone', () => {
    const bare = readImageConfig(documentOf({ Entrypoint: null, Cmd: ['sh'] }))
    expect(imageCommand(bare, undefined, undefined).fromImage).toEqual(['sh'])
    expect(imageCommand(readImageConfig(documentOf(null)), undefined, undefined).fromImage).toEqual([])
  })
})

describe("an image's environment", () => {
  it("is the image's own, with a PATH", () => {
    const config = readImageConfig(documentOf({ Env: ['A=1', 'B', '=x', 'C=a=b', '__proto__=1'] }))
    expect(Object.entries(imageEnvironment(config))).toEqual([
      ['PATH', usualPath],
      ['A', '1'],
      ['B', ''],
      ['C', 'a=b'],
      ['__proto__', '1'],
    ])
    expect(imageEnvironment(readImageConfig(documentOf({ Env: ['PATH=/x'] })))).toEqual({ PATH: '/x' })
  })
})

describe("an image's user", () => {
  const root = join(scratch, 'root')
  mkdirSync(join(root, 'etc'), { recursive: true })
  mkdirSync(join(root, 'real'))
  writeFileSync(
    join(root, 'real/passwd'),
    'root:x:0:0:root:/root:/bin/sh\nweb:x:1000:1001::/srv:/bin/sh\nbad:x:x:1:::\n',
  )
  symlinkSync('/real/passwd', join(root, 'etc/passwd'))
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nweb:x:1001:\nvideo:x:44:other,web\n')

  it.each([
    ['', { uid: 0, gid: 0, groups: [], home: '/root' }],
    ['web', { uid: 1000, gid: 1001, groups: [44], home: '/srv' }],
    ['1000', { uid: 1000, gid: 1001, groups: [44], home: '/srv' }],
    ['web:video', { uid: 1000, gid: 44, groups: [], home: '/srv' }],
    ['4000', { uid: 4000, gid: 0, groups: [], home: undefined }],
    ['4000:4001', { uid: 4000, gid: 4001, groups: [], home: undefined }],
    ['nobody', undefined],
    ['web:nogroup', undefined],
    ['bad', undefined],
    ['-1', undefined],
    ['4294967295', undefined],
    ['a:b:c', undefined],
  ])('%j is looked up in its files', (user, found) => {
    expect(findImageUser(root, user)).toEqual(found)
  })

  it('is never looked up in those of the machine', () => {
    const hostile = join(scratch, 'hostile')
    mkdirSync(hostile)
    symlinkSync('/etc', join(hostile, 'etc'))
    expect(findImageUser(hostile, 'root')).toBeUndefined()
    expect(findImageUser(join(scratch, 'nothing'), '7')).toEqual({ uid: 7, gid: 0, groups: [], home: undefined })
  })
})
