import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import {
  type OciOptions,
  type WrittenImage,
  dockerArchive,
  ociArchive,
  ociLayout,
  packers,
} from './archives/image-archive.fixture.ts'
import { ImageLibrary, type ImportOptions } from './image-library.ts'
import { ImportedImages } from './imported-images.ts'
import { file, folder, hardLink, sha256, symlink, writeTar } from './tar/tar-writer.fixture.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-images-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const { signal } = new AbortController()

const base = [
  folder('etc/'),
  file('etc/hosts', 'base'),
  file('bin/sh', 'shell', { mode: 0o755 }),
  hardLink('bin/ash', 'bin/sh'),
]
const top = [file('etc/.wh.hosts'), file('app/run', 'run'), symlink('app/current', '../bin')]
const image: WrittenImage = {
  layers: [base, top],
  names: ['web:1'],
  config: {
    Entrypoint: ['/app/run'],
    Cmd: ['--serve'],
    Env: ['PATH=/app:/bin', 'EMPTY=', 'X=a=b'],
    User: 'web:web',
    WorkingDir: '/app',
    ExposedPorts: { '8080/tcp': {} },
    StopSignal: 'SIGQUIT',
  },
}

function stage() {
  const folder = join(mkdtempSync(join(scratch, 'data-')), 'images')
  // Without sync: it would wait for the writes of every other program on the machine.
  const library = new ImageLibrary({ folder, sync: async () => {} })
  const write = (content: Buffer) => {
    const path = join(dirname(folder), 'archive.tar')
    writeFileSync(path, content)
    return path
  }
  const take = (content: Buffer, more: Partial<ImportOptions> = {}) =>
    library.import({ path: write(content), signal, ...more })
  return { folder, library, take, write, images: new ImportedImages(folder, 'registry.test') }
}

const leftovers = (folder: string) => [readdirSync(join(folder, 'staging')), readdirSync(join(folder, 'roots'))]

describe('an imported image', () => {
  const oci = (options: OciOptions) => ociArchive([image], options)
  it.each<[string, Buffer, Partial<ImportOptions>]>([
    ['docker save, before OCI', dockerArchive([image]), {}],
    ['docker save', oci({ docker: true }), {}],
    ['skopeo copy oci-archive:', oci({ packer: packers.gzip, refName: 'docker.io/library/web:1' }), {}],
    ['an OCI archive with zstd', oci({ packer: packers.zstd, refName: 'web:1' }), {}],
    ['an OCI archive that says only a tag', oci({ refName: 'latest' }), { name: 'web:1' }],
    [
      'a list of images for several machines',
      ociArchive([image, { ...image, architecture: 'other' }], { asList: true }),
      { name: 'web:1' },
    ],
    ['docker save | gzip', gzipSync(dockerArchive([image])), {}],
  ])('comes from %s', async (_, archive, options) => {
    const { take, images, library, folder } = stage()
    const [taken] = await take(archive, options)
    expect(taken?.record).toMatchObject({ name: 'docker.io/library/web:1', created: '2026-01-02T03:04:05Z' })
    const found = images.find('web:1')
    if (!found) throw new Error('not found')
    expect(found.config).toEqual({
      entrypoint: ['/app/run'],
      cmd: ['--serve'],
      env: { PATH: '/app:/bin', EMPTY: '', X: 'a=b' },
      user: 'web:web',
      workingDir: '/app',
      exposedPorts: ['8080/tcp'],
      stopSignal: 'SIGQUIT',
    })
    expect(readFileSync(join(found.root, 'app/current/ash'), 'utf8')).toBe('shell')
    expect(existsSync(join(found.root, 'etc/hosts'))).toBe(false)
    expect(library.list()).toHaveLength(1)
    expect(leftovers(folder)).toEqual([[], [taken?.record.id.replace(':', '-')]])
    expect(lstatSync(folder).mode & 0o777).toBe(0o700)
  })

  it('comes from a folder with an OCI layout', async () => {
    const { folder, library, images } = stage()
    const layout = join(dirname(folder), 'layout')
    for (const [name, content] of ociLayout([image])) {
      mkdirSync(dirname(join(layout, name)), { recursive: true })
      writeFileSync(join(layout, name), content)
    }
    await library.import({ path: layout, signal })
    expect(images.names()).toEqual(['docker.io/library/web:1'])
  })

  it('shares its archive with others, and layers with them', async () => {
    const { take, images } = stage()
    const other = { layers: [base], names: ['registry.test:5000/other:2', 'other:latest'] }
    const taken = await take(dockerArchive([image, other]))
    expect(taken.map(({ record }) => record.name)).toEqual([
      'docker.io/library/web:1',
      'registry.test:5000/other:2',
      'docker.io/library/other:latest',
    ])
    expect(images.find('other')?.id).toBe(images.find('registry.test:5000/other:2')?.id)
    await expect(take(dockerArchive([image, other]), { name: 'x' })).rejects.toThrow('several images')
  })

  it('is found by its digest, by every way to write its name, and in the registry of the compute center', async () => {
    const { take, images } = stage()
    const [taken] = await take(ociArchive([image]))
    const [digest = ''] = taken?.record.digests ?? []
    const names = [
      'web:1',
      'library/web:1',
      'docker.io/web:1',
      'index.docker.io/library/web:1',
      `web@${digest}`,
      `web:9@${digest}`,
    ]
    for (const name of [...names, 'registry.test/web:1', 'registry.test/docker.io/library/web:1'])
      expect([name, images.find(name)?.id]).toEqual([name, taken?.record.id])
    for (const name of ['web', 'web:2', 'other.test/web:1', `web@${sha256('x')}`, 'Web:1', ''])
      expect(images.find(name)).toBeUndefined()
  })

  it('is chosen among those of a layout', async () => {
    const { take, images } = stage()
    const archive = ociArchive([
      { layers: [base], names: ['one'] },
      { layers: [top], names: ['two'] },
    ])
    await expect(take(archive)).rejects.toThrow('does not say what the image is called')
    await expect(take(archive, { ref: 'three', name: 'web:1' })).rejects.toThrow('no image "three", but ["one","two"]')
    await take(archive, { ref: 'two', name: 'web:1' })
    expect(readdirSync(images.find('web:1')?.root ?? '')).toEqual(['app'])
  })

  it('takes a name from another image, whose files then go', async () => {
    const { take, images, folder } = stage()
    await take(dockerArchive([image]))
    const old = images.find('web:1')
    await take(dockerArchive([{ layers: [top], names: ['web:1'] }]))
    const now = images.find('web:1')
    expect(now?.id).not.toBe(old?.id)
    await new ImageLibrary({ folder }).collect(signal)
    expect(readdirSync(join(folder, 'roots'))).toEqual([now?.id.replace(':', '-')])
  })

  it('is not unpacked twice', async () => {
    const { take } = stage()
    expect((await take(dockerArchive([image])))[0]?.unpacked).toMatchObject({ devices: 0 })
    const [again] = await take(ociArchive([image], { packer: packers.gzip }), { name: 'web:again' })
    expect(again).toMatchObject({ unpacked: undefined, record: { name: 'docker.io/library/web:again' } })
    expect(again?.record.bytes).toBeGreaterThan(0)
  })

  it('keeps its files while a container runs from them', async () => {
    const { take, images, library, folder } = stage()
    await take(dockerArchive([image]))
    const found = images.find('web:1')
    if (!found) throw new Error('not found')
    const container = { podUid: 'uid', container: 'main' }
    expect([images.hold(found, container), images.hold(found, container)]).toEqual([true, true])
    expect(await library.remove('web:1', signal)).toMatchObject({ inUse: true })
    expect(images.find('web:1')).toBeUndefined()
    expect(readFileSync(join(found.root, 'app/run'), 'utf8')).toBe('run')
    images.keepOnly([container])
    await library.collect(signal)
    expect(existsSync(found.root)).toBe(true)
    images.letGo(found, container)
    await library.collect(signal)
    expect(leftovers(folder)).toEqual([[], []])
    expect(images.hold(found, container)).toBe(false)
  })

  it('is removed by its name or its digest', async () => {
    const { take, library, folder } = stage()
    const [one] = await take(dockerArchive([{ ...image, names: ['web:1', 'web:2'] }]))
    expect(await library.remove('docker.io/library/web:1', signal)).toMatchObject({ inUse: false })
    expect(library.list().map(({ name }) => name)).toEqual(['docker.io/library/web:2'])
    await library.remove(one?.record.id ?? '', signal)
    expect(leftovers(folder)).toEqual([[], []])
    await expect(library.remove('web:2', signal)).rejects.toThrow('There is no image web:2')
  })
})

describe('an archive that is not what it says', () => {
  const changed = (_: string, content: Buffer) =>
    content.length > 1024 ? Buffer.from(content).fill(0x7a, 600, 601) : content
  const bomb = Buffer.concat([writeTar([file('a', 'x'.repeat(100))]), Buffer.alloc(40 * 2 ** 20)])
  it.each<[string, Buffer, RegExp, Partial<ImportOptions>?]>([
    ['has a layer with another digest', ociArchive([image], { damage: changed }), /has the digest sha256:.*damaged/],
    [
      'has a packed layer with another digest',
      ociArchive([image], {
        packer: packers.gzip,
        damage: (_, content) =>
          content[0] === 0x1f ? Buffer.concat([content.subarray(0, -1), Buffer.from([7])]) : content,
      }),
      /damaged/,
    ],
    [
      'has a shorter layer',
      ociArchive([image], { damage: (_, content) => (content.length > 1024 ? content.subarray(0, 1024) : content) }),
      /bytes, not/,
    ],
    [
      'lacks a layer',
      writeTar(
        [...ociLayout([image])]
          .filter(([, content]) => content.length < 1024)
          .map(([name, content]) => file(name, '', { content })),
      ),
      /lacks sha256/,
    ],
    ['is for another machine', dockerArchive([{ ...image, architecture: 's390x' }]), /it is for linux\/s390x/],
    [
      'has nothing for this machine',
      ociArchive([{ ...image, architecture: 's390x' }], { asList: true }),
      /nothing for linux.*s390x/,
    ],
    ['has no name', dockerArchive([{ layers: [base] }]), /does not say what the image is called/],
    ['has a name that is none', dockerArchive([{ layers: [base], names: ['UPPER/../x'] }]), /cannot be the name/],
    [
      'unpacks to more than is allowed',
      ociArchive([{ layers: [bomb], names: ['b:1'] }], { packer: packers.gzip }),
      /larger than 10485760 bytes/,
      { limits: { bytes: 10 * 2 ** 20, entries: 100 } },
    ],
    [
      'unpacks to more than is allowed, as a whole',
      gzipSync(dockerArchive([{ layers: [bomb], names: ['b:1'] }])),
      /larger than/,
      { limits: { bytes: 10 * 2 ** 20, entries: 100 } },
    ],
    ['escapes', dockerArchive([{ layers: [[file('../../escape')]], names: ['b:1'] }]), /escape.*contains/],
    ['is no image', writeTar([file('hello', 'x')]), /it is no image/],
    ['is no archive', Buffer.from('hello'), /middle of an entry|not a tar/],
    ['is empty', Buffer.alloc(0), /it is no image/],
    ['is cut off', dockerArchive([image]).subarray(0, 2000), /middle of an entry/],
    ['is packed and cut off', gzipSync(dockerArchive([image])).subarray(0, 300), /cannot be unpacked/],
    ['has no JSON where it should', writeTar([file('manifest.json', '{')]), /is not JSON/],
    ['has other JSON than it should', writeTar([file('manifest.json', '{}')]), /is malformed/],
  ])('%s is refused, and leaves nothing behind', async (_, archive, message, options = {}) => {
    const { take, library, folder, images } = stage()
    await expect(take(archive, options)).rejects.toMatchObject({
      code: 'image_refused',
      message: expect.stringMatching(message) as string,
    })
    expect([library.list(), leftovers(folder), images.names()]).toEqual([[], [[], []], []])
  })

  it('and one that is not there is said to be missing', async () => {
    const { library } = stage()
    await expect(library.import({ path: join(scratch, 'nowhere.tar'), signal })).rejects.toThrow(
      'there is no such file',
    )
  })

  it('ends at once when nobody wants it any more', async () => {
    const { take, folder } = stage()
    const stop = new AbortController()
    stop.abort(new Error('enough'))
    await expect(take(dockerArchive([image]), { signal: stop.signal })).rejects.toThrow('enough')
    expect(leftovers(folder)).toEqual([[], []])
  })
})
