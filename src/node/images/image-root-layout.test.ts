import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { layOutImageRoot } from './image-root-layout.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-image-root-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const asUser = process.getuid?.() !== 0
const namespaces = ['--mount', '--pid', '--fork', ...(asUser ? ['--user', '--map-root-user'] : [])]

function stage() {
  const place = mkdtempSync(join(scratch, 'stage-'))
  const image = join(place, 'image')
  mkdirSync(join(image, 'etc/app'), { recursive: true })
  mkdirSync(join(image, 'var'))
  writeFileSync(join(image, 'etc/file'), 'image')
  symlinkSync('/run/deep', join(image, 'var/run'))
  symlinkSync('../../../../../../../../..', join(image, 'up'))
  const volume = join(place, 'volume')
  mkdirSync(volume)
  writeFileSync(join(volume, 'data'), 'volume')
  const mount = (mountPath: string, readOnly = false) => ({ mountPath, folder: volume, root: volume, readOnly })
  const own = join(place, 'own')
  return { place, image, volume, mount, own, options: { image, own, asUser, readOnly: false } }
}

/** Makes the mounts in namespaces of their own and runs a script of the machine's shell there. */
function inside(own: string, table: string, script: string) {
  writeFileSync(join(own, 'table'), table)
  const whole = `mount -c -a -T ${join(own, 'table')} || exit 125; cd ${join(own, 'merged')}; ${script}`
  return spawnSync('unshare', [...namespaces, 'sh', '-c', whole], { encoding: 'utf8', timeout: 15_000 })
}

const works = (() => {
  const { own, options } = stage()
  return inside(own, layOutImageRoot({ ...options, mounts: [] }).table, 'true').status === 0
})()

describe("an image's root", () => {
  it('gets mount points where the image has them after a chroot, never on the machine', () => {
    const { own, options, mount, image } = stage()
    const mounts = ['/var/run/secret', '/up/top', '/etc/app', '/new/place'].map((path) => mount(path))
    const { table, root } = layOutImageRoot({ ...options, mounts })
    const targets = table.split('\n').map((line) => line.split(' ')[1] ?? '')
    for (const path of ['/run/deep/secret', '/top', '/etc/app', '/new/place', '/proc', '/dev/null'])
      expect(targets).toContain(root + path)
    expect(readdirSync(join(own, 'points')).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'dev',
      'new',
      'proc',
      'run',
      'top',
    ])
    expect(readdirSync(image)).toEqual(['etc', 'up', 'var'])
  })

  it.each([
    ['/etc/file', 'no folder in the image'],
    ['/etc/file/below', 'inside a file'],
    ['/up', 'is the root of the image'],
  ])('refuses a folder at %s', (path, message) => {
    const { options, mount } = stage()
    expect(() => layOutImageRoot({ ...options, mounts: [mount(path)] })).toThrow(message)
  })

  it('refuses folders that overlayfs cannot be told of', () => {
    const { options, place } = stage()
    expect(() => layOutImageRoot({ ...options, own: join(place, 'a:b'), mounts: [] })).toThrow('overlayfs')
  })

  it.runIf(works)('shows the image with its volumes, and keeps what is written from the image', () => {
    const { own, options, mount, image, volume } = stage()
    const { table } = layOutImageRoot({ ...options, mounts: [mount('/new/place'), mount('/etc/app', true)] })
    const script =
      'cat etc/file new/place/data; echo x >etc/file; rm -r var; echo y >new/place/more; echo z 2>&1 >etc/app/no; echo gone >dev/null; ls proc/self/root >/dev/null && echo proc'
    const { stdout } = inside(own, table, script)
    expect(stdout.replace(/sh: .*\n/, 'refused ')).toContain('imagevolume')
    expect(stdout).toContain('proc')
    expect([readFileSync(join(image, 'etc/file'), 'utf8'), existsSync(join(image, 'var'))]).toEqual(['image', true])
    expect(readdirSync(volume)).toEqual(['data', 'more'])
    const again = layOutImageRoot({ ...options, mounts: [] })
    expect(inside(own, again.table, 'cat etc/file').stdout).toBe('image')
  })

  it.runIf(works)('can be for reading only, mount points and all', () => {
    const { own, options, mount } = stage()
    const { table } = layOutImageRoot({ ...options, readOnly: true, mounts: [mount('/new/place')] })
    const { stdout } = inside(
      own,
      table,
      '(echo x >etc/file) 2>/dev/null || echo refused; echo y >new/place/more && cat new/place/more etc/file',
    )
    expect(stdout).toBe('refused\ny\nimage')
  })
})
