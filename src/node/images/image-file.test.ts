import { describe, expect, it } from 'vitest'
import { parseImages } from './image-file.ts'
import { ImageStore } from './image-store.ts'
import type { ImageRoots, RootImage } from './imported-images.ts'

const config = { entrypoint: [], cmd: [], env: {}, user: '', workingDir: '', exposedPorts: [], stopSignal: undefined }
const imported = (...names: readonly string[]): ImageRoots => ({
  find: (image): RootImage | undefined =>
    names.includes(image) ? { found: 'root', root: `/roots/${image}`, id: 'sha256:1', config } : undefined,
  names: () => names,
  hold: () => true,
  letGo: () => {},
  keepOnly: () => {},
})

describe('parseImages', () => {
  it('adds images to the store', () => {
    const entries = parseImages(
      { 'r.test:5000/tool': { command: ['/bin/tool', '-x'], env: { A: 'b' }, visible: ['/srv/tool'] } },
      '--config',
    )
    expect(new ImageStore(entries).lookup('r.test:5000/tool:2')).toEqual({
      found: 'program',
      command: ['/bin/tool', '-x'],
      env: { A: 'b' },
      visible: ['/srv/tool', '/bin/tool'],
      kept: undefined,
    })
  })

  it('adds folders that become the root of a container', () => {
    const written = { root: import.meta.dirname, command: ['/run'], env: { A: 'b' }, user: 'web', workingDir: '/srv' }
    const store = new ImageStore(
      parseImages({ 'r/whole': written, 'r/bare': { root: import.meta.dirname } }, '--config'),
    )
    expect(store.lookup('r/whole:1')).toMatchObject({
      found: 'root',
      root: import.meta.dirname,
      id: '',
      config: { entrypoint: ['/run'], cmd: [], env: { A: 'b' }, user: 'web', workingDir: '/srv' },
    })
    expect(store.lookup('r/bare')).toMatchObject({ found: 'root', config: { entrypoint: [], user: '' } })
    const gone = new ImageStore(parseImages({ 'r/gone': { root: '/nowhere/at/all' } }, '--config'))
    expect(gone.lookup('r/gone')).toMatchObject({
      found: 'nothing',
      message: 'r/gone: there is no folder /nowhere/at/all',
    })
  })

  it('adds OCI layouts, which are there once they are unpacked, whatever the tag', () => {
    const entries = parseImages({ 'r/tool': { oci: '/srv/layout' } }, '--config')
    expect(new ImageStore(entries, imported()).lookup('r/tool:3')).toMatchObject({
      found: 'nothing',
      message: expect.stringContaining('/srv/layout has not been unpacked') as string,
    })
    expect(new ImageStore(entries, imported('r/tool:latest')).lookup('r/tool:3')).toMatchObject({ found: 'root' })
  })

  it.each([
    [['a'], '--config: images'],
    [{ a: { command: [] } }, 'images.a.command'],
    [{ a: { command: ['x'], entrypoint: 'y' } }, 'entrypoint'],
    [{ 'a:latest': { command: ['x'] } }, 'without tag'],
    [{ a: { root: 'relative' } }, 'images.a.root: must be the absolute path'],
    [{ a: { root: '/' } }, 'images.a.root: must be the absolute path'],
    [{ a: { root: '/srv', cmd: ['x'] } }, 'cmd'],
    [{ a: { root: '/srv', workingDir: 'x' } }, 'images.a.workingDir'],
    [{ a: { oci: '/srv', command: ['x'] } }, 'command'],
    [{ A: { oci: '/srv' } }, 'cannot be the name'],
    [{ a: 'x' }, 'images.a'],
  ])('refuses %j', (value, message) => {
    expect(() => parseImages(value, '--config')).toThrow(message)
  })
})

describe('an image store', () => {
  it('finds what was imported, behind what the operator said', () => {
    const store = new ImageStore({ 'r/tool': { command: ['/bin/tool'] } }, imported('r/tool:1', 'r/web:1'))
    expect(store.lookup('r/tool:1')).toMatchObject({ found: 'program' })
    expect(store.lookup('r/web:1')).toMatchObject({ found: 'root', root: '/roots/r/web:1' })
    expect(store.lookup('r/web:2')).toEqual({
      found: 'nothing',
      message: 'This node has no program for the image "r/web:2". It knows: r/tool, r/tool:1, r/web:1.',
    })
  })

  it('says that the list of images cannot be read, instead of failing', () => {
    const broken = { ...imported(), find: () => { throw new Error('index.json is damaged') } } // prettier-ignore
    expect(new ImageStore({}, broken).lookup('r/web')).toMatchObject({
      found: 'nothing',
      message: expect.stringContaining('damaged') as string,
    })
  })
})
