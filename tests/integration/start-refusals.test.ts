import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const program = fileURLToPath(new URL('../../bin/sluice', import.meta.url))
const ports = ['management', 'control-plane', 'gateway', 'exposure'].flatMap((name) => [`--${name}-port`, '0'])
const deadlineMs = 100_000

const mayMount = spawnSync('unshare', ['-rm', 'true']).status === 0
const isRoot = process.getuid?.() === 0

describe('a start that cannot succeed', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-refused-'))
    chmodSync(folder, 0o755)
    writeFileSync(join(folder, 'file'), '')
    mkdirSync(join(folder, 'private'), { mode: 0o700 })
    mkdirSync(join(folder, 'mounted'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  interface How {
    readonly data?: string
    readonly flags?: readonly string[]
    /** Done before, in a mount namespace of its own. */
    readonly mount?: string
    readonly uid?: number
  }

  function start({ data, flags = [], mount, uid }: How) {
    const words = [program, 'up', '--data', data ?? join(folder, 'new'), '--no-demo-model', ...ports, ...flags]
    const command =
      mount === undefined ? words : ['unshare', '-rm', 'sh', '-c', `${mount} && exec "$@"`, 'sh', ...words]
    const [first = '', ...rest] = command
    const user = uid === undefined ? {} : { uid, gid: uid }
    return spawnSync(first, rest, { ...user, cwd: '/', encoding: 'utf8', timeout: deadlineMs })
  }

  /** What it said: one line that names the program once, without a stack, and its exit code. */
  function refusal(how: How) {
    const { status, stderr, stdout } = start(how)
    const lines = stderr.trim().split('\n')
    return { said: stderr.trim(), lines: lines.length, names: stderr.match(/sluice: /g)?.length, status, stdout }
  }
  /** The exit code is that for what its user can change. */
  const sentence = (said: RegExp): unknown => ({
    said: expect.stringMatching(said),
    lines: 1,
    names: 1,
    status: 2,
    stdout: '',
  })

  it.each<[string, () => How, RegExp]>([
    [
      'a file',
      () => ({ data: join(folder, 'file') }),
      /^sluice: The data directory \S+file cannot be used: it is a file/,
    ],
    ['below a file', () => ({ data: join(folder, 'file/x') }), /cannot be used: a part of it is a file/],
    [
      'in /proc',
      () => ({ data: '/proc' }),
      /The data directory \/proc cannot be used: .*Choose another with --data\.$/,
    ],
    ['below /proc', () => ({ data: '/proc/sluice' }), /\/proc\/sluice cannot be used: nothing can be created there/],
  ])('says so of a data directory that is %s', (_, how, said) => {
    expect(refusal(how())).toEqual(sentence(said))
  })

  it.each<[string, readonly string[], RegExp]>([
    [
      'an address of another machine',
      ['--host', '203.0.113.9'],
      /^sluice: --host: .*203\.0\.113\.9: this machine does not/,
    ],
    ['no address at all', ['--host', 'no such host'], /^sluice: --host: Nobody can listen at no such host: /],
    ['a flag that does not exist', ['--warp', '9'], /^sluice: --warp: Unknown option '--warp'\. --help lists/],
  ])('says so of %s', (_, flags, said) => {
    expect(refusal({ flags })).toEqual(sentence(said))
  })

  it.skipIf(!mayMount)('says so of a read-only disk and of a full one', () => {
    const mounted = join(folder, 'mounted')
    const readOnly = `mount -t tmpfs -o ro none ${mounted}`
    expect(refusal({ data: mounted, mount: readOnly })).toEqual(
      sentence(/cannot be used: its file system is read-only/),
    )
    expect(refusal({ data: join(mounted, 'x'), mount: readOnly })).toEqual(
      sentence(/cannot be used: its file system is read-only/),
    )
    const full = `mount -t tmpfs -o size=64k none ${mounted}`
    expect(refusal({ data: mounted, mount: full })).toEqual(sentence(/cannot be used: its disk is full/))
  })

  it.skipIf(!isRoot)('says so of a directory of another user', () => {
    expect(refusal({ data: join(folder, 'private'), uid: 65_534 })).toEqual(
      sentence(/private cannot be used: this user may not write/),
    )
  })
})
