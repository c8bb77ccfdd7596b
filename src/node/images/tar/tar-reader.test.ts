import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  linkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { StreamSource } from './byte-source.ts'
import { type TarEntry, readTar } from './tar-reader.ts'
import { file, folder, headerBlock, signed, writeTar } from './tar-writer.fixture.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-tar-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

interface Read extends Pick<TarEntry, 'type' | 'name' | 'linkName' | 'mode' | 'size'> {
  readonly content: Buffer
}

/** Reads an archive that arrives in pieces of any size. */
async function readAll(archive: Buffer, pieceBytes = 700): Promise<Read[]> {
  async function* pieces() {
    for (let at = 0; at < archive.length; at += pieceBytes) yield archive.subarray(at, at + pieceBytes)
  }
  const found: Read[] = []
  for await (const entry of readTar(new StreamSource(pieces()))) {
    const whole = Buffer.alloc(entry.size)
    const stored: Buffer[] = []
    for await (const piece of entry.content()) stored.push(piece)
    let at = 0
    for (const { offset, length } of entry.extents) at += Buffer.concat(stored).copy(whole, offset, at, at + length)
    const { type, name, linkName, mode, size } = entry
    found.push({ type, name, linkName, mode, size, content: whole })
  }
  return found
}

describe('readTar', () => {
  it.each([1, 511, 512, 513, 100_000])('finds the same in pieces of %i bytes', async (pieceBytes) => {
    const archive = writeTar([
      folder('a/'),
      file('a/b', 'x'.repeat(1000)),
      file('a/ü', ''),
      file('c', 'y', { mode: 0o4755 }),
    ])
    expect(
      (await readAll(archive, pieceBytes)).map(({ type, name, mode, content }) => [type, name, mode, content.length]),
    ).toEqual([
      ['directory', 'a/', 0o755, 0],
      ['file', 'a/b', 0o644, 1000],
      ['file', Buffer.from('a/ü').toString('latin1'), 0o644, 0],
      ['file', 'c', 0o4755, 1],
    ])
  })

  it('keeps names that are not UTF-8, in headers and in PAX records', async () => {
    const name = Buffer.from([0x66, 0xe9, 0xff])
    const archive = writeTar([file(name, '1'), file('short', '2', { pax: { path: Buffer.concat([name, name]) } })])
    expect((await readAll(archive)).map((entry) => Buffer.from(entry.name, 'latin1'))).toEqual([
      name,
      Buffer.concat([name, name]),
    ])
  })

  it('does not read on behind the end, and needs none', async () => {
    const archive = writeTar([file('a', '1')])
    expect(await readAll(Buffer.concat([archive, writeTar([file('b', '2')])]))).toHaveLength(1)
    expect(await readAll(archive.subarray(0, 1024))).toHaveLength(1)
    expect(await readAll(archive.subarray(0, 513))).toHaveLength(1)
  })

  it('passes over what a link, a folder or a device claims to hold', async () => {
    const liar = { name: 'l', type: '2', linkName: 't', size: 4096 }
    expect((await readAll(writeTar([liar, file('after', 'x')]))).map(({ name, size }) => [name, size])).toEqual([
      ['l', 0],
      ['after', 1],
    ])
  })

  const sparseHeader = (change: (block: Buffer) => void) => {
    const block = headerBlock({ name: 's', type: 'S', size: 512 })
    block.write('ustar  \0', 257, 'latin1')
    change(block)
    return Buffer.concat([signed(block), Buffer.alloc(512 * 4)])
  }

  it.each<[string, Buffer, RegExp]>([
    ['a damaged header', writeTar([file('a', '1')]).fill(0x39, 20, 21), /not a tar archive/],
    ['text', Buffer.alloc(2048, 'hello '), /not a tar archive/],
    ['an end in the middle', writeTar([file('a', 'x'.repeat(2000))]).subarray(0, 1500), /middle of an entry/],
    ['an end in a header', writeTar([file('a')]).subarray(0, 300), /middle of an entry/],
    ['a header without end', writeTar([{ name: 'x', type: 'x', size: 2 ** 30 }]), /more than 1048576 bytes/],
    ['a long name without end', writeTar([{ name: 'x', type: 'L', size: 2 ** 30 }]), /more than 1048576 bytes/],
    [
      'a malformed PAX record',
      writeTar([{ name: 'x', type: 'x', content: '99 path=a\n' }, file('a')]),
      /malformed PAX/,
    ],
    [
      'a PAX record of no length',
      writeTar([{ name: 'x', type: 'x', content: '0 path=a\n' }, file('a')]),
      /malformed PAX/,
    ],
    ['a negative size', writeTar([file('a', 'x', { pax: { size: '-1' } })]), /number that is none/],
    [
      'a size beyond all bounds',
      writeTar([file('a', 'x', { pax: { size: '99999999999999999' } })]),
      /number that is none/,
    ],
    ['a zero byte in a name', writeTar([file('a', 'x', { pax: { path: 'a\0b' } })]), /zero byte/],
    ['a type nobody knows', writeTar([{ name: 'a', type: 'Z' }]), /type "Z"/],
    [
      'a sparse file with parts beyond its end',
      sparseHeader((block) => block.write('00000001000\x0000000001000\0', 386)),
      /malformed map/,
    ],
    [
      'a sparse map without end',
      writeTar([
        file('a', '', {
          pax: { 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0', 'GNU.sparse.realsize': '9' },
          content: '999999999\n'.padEnd(512, '1'),
        }),
      ]),
      /more than 100000 parts/,
    ],
  ])('refuses %s', async (_, archive, message) => {
    await expect(readAll(archive)).rejects.toThrow(message)
  })
})

describe('what GNU tar writes', () => {
  const tree = join(scratch, 'tree')
  const long = `${'long-name/'.repeat(20)}file`
  mkdirSync(join(tree, 'long-name/'.repeat(20)), { recursive: true })
  writeFileSync(join(tree, long), 'deep')
  symlinkSync('x'.repeat(150), join(tree, 'far'))
  writeFileSync(join(tree, 'holes'), 'begin')
  truncateSync(join(tree, 'holes'), 3_000_000)
  const parts = Array.from({ length: 40 }, (_, index) => index * 70_000)
  const content = Buffer.alloc(3_000_000)
  for (const at of parts) content.write(`part ${at}`, at)
  execFileSync(
    'sh',
    ['-c', parts.map((at) => `printf 'part ${at}' | dd of=holes bs=1 seek=${at} conv=notrunc status=none`).join('; ')],
    { cwd: tree },
  )
  linkSync(join(tree, 'holes'), join(tree, 'same'))

  it.each([
    ['--format=gnu', '-S'],
    ['--format=posix', '-S', '--sparse-version=1.0'],
    ['--format=posix', '-S', '--sparse-version=0.1'],
    ['--format=posix', '-S', '--sparse-version=0.0'],
    ['--format=posix', '--hole-detection=raw'],
    ['--format=gnu', '--hole-detection=seek'],
  ])('is read with %s %s %s', async (...flags) => {
    const path = join(scratch, 'made.tar')
    execFileSync('tar', ['--create', '--file', path, ...flags, '--sort=name', '-C', tree, '.'])
    const found = await readAll(readFileSync(path), 10_000)
    const named = (name: string) => found.find((entry) => entry.name === `./${name}`)
    expect(named(long)?.content.toString()).toBe('deep')
    expect(named('far')).toMatchObject({ type: 'symlink', linkName: 'x'.repeat(150) })
    expect(named('holes')?.content.equals(content)).toBe(true)
    expect(named('same')).toMatchObject({ type: 'link', linkName: './holes' })
  })
})
