import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { StreamSource } from '../tar/byte-source.ts'
import { unpackLayer } from './layer-unpack.ts'
import { RootFiles } from './root-files.ts'
import { readTar } from '../tar/tar-reader.ts'
import { type WrittenEntry, file, folder, hardLink, symlink, writeTar } from '../tar/tar-writer.fixture.ts'
import { UnpackBudget, usualLimits } from '../tar/unpack-budget.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-layers-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const isRoot = process.getuid?.() === 0

/** The surroundings of the root that a malicious layer could reach; they must stay unchanged. */
function stage() {
  const place = mkdtempSync(join(scratch, 'stage-'))
  const root = join(place, 'rootfs')
  mkdirSync(root)
  mkdirSync(join(place, 'outside'))
  writeFileSync(join(place, 'outside', 'secret'), 'secret', { mode: 0o600 })
  const notes = { devices: 0, fifos: 0, capabilities: 0 }
  const files = new RootFiles(isRoot)
  const apply = async (entries: readonly WrittenEntry[], limits = usualLimits, as = files) => {
    async function* pieces() {
      yield writeTar(entries)
    }
    const { signal } = new AbortController()
    const target = { root, files: as, budget: new UnpackBudget(limits), notes, signal }
    await unpackLayer(readTar(new StreamSource(pieces())), target)
  }
  const outside = () => {
    const secret = join(place, 'outside', 'secret')
    return [
      readdirSync(place),
      readdirSync(join(place, 'outside')),
      readFileSync(secret, 'utf8'),
      lstatSync(secret).nlink,
    ]
  }
  return {
    root,
    apply,
    outside,
    untouched: outside(),
    notes,
    read: (path: string) => readFileSync(join(root, path), 'utf8'),
  }
}

describe('a layer', () => {
  it('makes files, folders and links with their modes, owners and times', async () => {
    const { root, apply, read } = stage()
    await apply([
      folder('./', { mode: 0o711 }),
      folder('bin/', { mode: 0o555, mtime: 1000 }),
      file('bin/su', 'program', { mode: 0o4755, uid: 3, gid: 5, mtime: 2000 }),
      hardLink('bin/also-su', '/bin/su'),
      symlink('sbin', 'bin'),
      symlink('anywhere', '/outside/../../../etc/passwd'),
      file('implied/deep/file', 'x'),
      file(`${'n'.repeat(200)}/${'m'.repeat(200)}`, 'long'),
    ])
    expect(lstatSync(root).mode & 0o7777).toBe(0o711)
    expect(lstatSync(join(root, 'bin'))).toMatchObject({ mode: 0o40000 | (isRoot ? 0o555 : 0o755), mtimeMs: 1_000_000 })
    const program = lstatSync(join(root, 'bin/su'))
    expect(program).toMatchObject({ mode: 0o104755, nlink: 2, mtimeMs: 2_000_000 })
    expect([program.uid, program.gid]).toEqual(isRoot ? [3, 5] : [process.getuid?.(), process.getgid?.()])
    expect(read('bin/also-su')).toBe('program')
    expect(readlinkSync(join(root, 'anywhere'))).toBe('/outside/../../../etc/passwd')
    expect(lstatSync(join(root, 'implied')).mode & 0o7777).toBe(0o755)
    expect(read(`${'n'.repeat(200)}/${'m'.repeat(200)}`)).toBe('long')
  })

  it('takes away what was below it, but nothing of its own, in whichever order it says so', async () => {
    const { root, apply } = stage()
    await apply([
      file('a/one'),
      file('a/two'),
      file('b/one'),
      file('c'),
      file('d/e/f'),
      file('keep/x'),
      file('keep/y/z'),
    ])
    await apply([
      file('a/mine'),
      file('a/.wh..wh..opq'),
      file('b/.wh.one'),
      file('.wh.c'),
      file('c', 'again'),
      file('d/e/new'),
      file('.wh.d'),
      file('.wh..wh.plnk/1.2', 'auxiliary'),
      file('keep/.wh.missing'),
      file('gone/.wh.missing'),
    ])
    const all = readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted((a, b) => (a < b ? -1 : 1))
    expect(all).toEqual(['a', 'a/mine', 'b', 'c', 'd', 'd/e', 'd/e/new', 'keep', 'keep/x', 'keep/y', 'keep/y/z'])
  })

  it('replaces what it has, whatever that was, and never writes into what it replaces', async () => {
    const { root, apply, read } = stage()
    await apply([
      file('a', '1'),
      hardLink('b', 'a'),
      folder('c/'),
      file('c/x'),
      symlink('d', 'c'),
      folder('e/'),
      file('f/g'),
    ])
    await apply([
      file('a', '2'),
      file('c', 'file'),
      folder('d/'),
      symlink('e', 'f'),
      file('f/h'),
      folder('a2/'),
      file('a2', 'now a file'),
    ])
    expect([read('a'), read('b'), read('c'), read('e/h'), read('a2')]).toEqual(['2', '1', 'file', '', 'now a file'])
    expect(lstatSync(join(root, 'd')).isDirectory()).toBe(true)
  })

  it('is written through links of its own and of layers below only inside the root, as after a chroot', async () => {
    const { root, apply, read, outside, untouched } = stage()
    await apply([
      symlink('up', '../outside'),
      symlink('abs', '/outside'),
      symlink('run', '/var/run'),
      folder('var/'),
      symlink('var/run', '../run2'),
    ])
    await apply([file('up/secret', 'mine'), file('abs/other', 'mine'), file('run/pid', '1'), file('up/.wh.secret2')])
    expect([read('outside/secret'), read('outside/other'), read('run2/pid')]).toEqual(['mine', 'mine', '1'])
    expect(outside()).toEqual(untouched)
    await apply([file('up/.wh..wh..opq'), file('abs/.wh.other')])
    expect(readdirSync(join(root, 'outside'))).toEqual([])
    expect(outside()).toEqual(untouched)
  })

  it('does not touch what a link leads to that took the place of a folder', async () => {
    const { apply, outside, untouched, root } = stage()
    const times = () => lstatSync(join(root, '../outside')).mtimeMs
    const before = times()
    await apply([
      folder('a/'),
      folder('a/outside/', { mtime: 1000 }),
      symlink('a', '..'),
      folder('b/c/', { mtime: 1000 }),
      file('b'),
    ])
    expect([outside(), times()]).toEqual([untouched, before])
  })

  it('says what it could not make', async () => {
    const { root, apply, notes } = stage()
    await apply([
      { name: 'dev/null', type: '3' },
      { name: 'dev/sda', type: '4' },
      { name: 'pipe', type: '6' },
      file('bin/ping', 'x', { pax: { 'SCHILY.xattr.security.capability': '\u0001', 'SCHILY.xattr.user.note': 'x' } }),
    ])
    expect(notes).toEqual({ devices: 2, fifos: 1, capabilities: 1 })
    expect(readdirSync(root)).toEqual(['bin'])
  })

  it('of somebody who is not root belongs to them, and can be removed by them', async () => {
    const { root, apply } = stage()
    const files = new RootFiles(false)
    await apply([folder('shut/', { mode: 0 }), file('shut/file', 'x', { uid: 12345, mode: 0 })], usualLimits, files)
    expect(files.otherOwners).toBe(isRoot ? 1 : 2)
    expect(lstatSync(join(root, 'shut')).mode & 0o7777).toBe(0o700)
    expect(lstatSync(join(root, 'shut/file')).uid).toBe(process.getuid?.())
  })
})

describe('a hostile layer', () => {
  const deep = Array.from({ length: 201 }, () => 'd').join('/')
  it.each<[string, readonly WrittenEntry[], RegExp]>([
    ['names above the root', [file('../outside/new', 'x')], /contains ".."/],
    ['names that go up and come down again', [file('a/../../rootfs/b', 'x')], /contains ".."/],
    ['a folder above the root', [folder('..')], /contains ".."/],
    ['a whiteout above the root', [file('../.wh.outside')], /contains ".."/],
    ['a whiteout of the folder above', [folder('a'), file('a/.wh...')], /without a name/],
    ['a whiteout of its own folder', [folder('a'), file('a/.wh..')], /without a name/],
    ['a whiteout of nothing', [file('.wh.')], /without a name/],
    ['files in what is gone', [file('.wh.a/b')], /inside something that is gone/],
    ['a hard link to above the root', [hardLink('a', '../outside/secret')], /contains ".."/],
    ['a hard link to what only the machine has', [hardLink('a', '/etc/passwd')], /no such file in the image/],
    [
      'a hard link through a link',
      [symlink('up', '../outside'), hardLink('a', 'up/secret')],
      /no such file in the image/,
    ],
    ['a hard link to itself', [file('a'), hardLink('a', 'a')], /no such file in the image/],
    ['a hard link that replaces what it leads to', [file('a/b'), hardLink('a', 'a/b')], /no such file in the image/],
    ['a hard link to a folder', [folder('a'), hardLink('b', 'a')], /no such file in the image/],
    ['a root that is a link', [symlink('./', '/outside')], /root is not a folder/],
    ['a link to itself that is walked through', [symlink('a', 'a'), file('a/b')], /too many links/],
    ['links that lead around', [symlink('a', 'b'), symlink('b', 'a/x'), file('a/b')], /too many links|too deep/],
    ['files inside a file', [file('a', 'x'), file('a/b', 'x')], /not a folder/],
    ['a name that is too long', [file('n'.repeat(256))], /longer than 255/],
    ['a path that is too long', [file('n/'.repeat(3000))], /longer than 4095/],
    ['folders in folders without end', [file(deep)], /deeper than 200/],
    ['a link to nowhere', [{ name: 'a', type: '2', linkName: '' }], /link to nowhere/],
    ['an owner that no machine has', [file('a', '', { pax: { uid: '4294967295' } })], /its owner/],
    [
      'a sparse file of all the disk',
      [file('a', '', { pax: { 'GNU.sparse.map': '', 'GNU.sparse.size': '9000000000000000' } })],
      /larger than/,
    ],
    ['more entries than allowed', Array.from({ length: 21 }, (_, index) => file(`${index}`)), /more than 20 entries/],
  ])('with %s is refused, and nothing outside was touched', async (_, entries, message) => {
    const { apply, outside, untouched } = stage()
    await expect(apply(entries, { ...usualLimits, entries: 20 })).rejects.toThrow(message)
    expect(outside()).toEqual(untouched)
  })
})
