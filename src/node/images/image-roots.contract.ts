import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { ImageRoots, RootImage } from './imported-images.ts'

export interface ImageRootsStage {
  readonly roots: ImageRoots
  /** The image `docker.io/library/web:1`, whose registry is also known as `registry.test`. */
  add(): Promise<void>
  /** Removes its name, and then all images that nobody holds. */
  remove(): Promise<void>
  /** Removes all images that nobody holds and no name refers to. */
  collect(): Promise<void>
  /** The same images as seen by another process, or after a restart. */
  reopened(): ImageRoots
}

/** What the runtime relies on when it runs containers from images. */
export function imageRootsContract(name: string, open: () => ImageRootsStage): void {
  const container = { podUid: 'c0ffee', container: 'main' }
  const required = (image: RootImage | undefined): RootImage => {
    if (!image) throw new Error('the image is not found')
    return image
  }

  describe(`${name} as ImageRoots`, () => {
    it('finds an image as soon as it is there, by the name that a Pod gives', async () => {
      const { roots, add, remove } = open()
      expect(roots.find('registry.test/web:1')).toBeUndefined()
      await add()
      const image = required(roots.find('registry.test/web:1'))
      expect(roots.find('web:1')).toEqual(image)
      expect([image.found, existsSync(image.root), image.id.slice(0, 7)]).toEqual(['root', true, 'sha256:'])
      expect(roots.names()).toEqual(['docker.io/library/web:1'])
      await remove()
      expect([roots.find('web:1'), roots.names(), existsSync(image.root)]).toEqual([undefined, [], false])
    })

    it('keeps the files of an image for a container, until that is let go', async () => {
      const { roots, add, remove, collect } = open()
      await add()
      const image = required(roots.find('web:1'))
      expect([roots.hold(image, container), roots.hold(image, container)]).toEqual([true, true])
      await remove()
      expect([roots.find('web:1'), existsSync(image.root)]).toEqual([undefined, true])
      roots.letGo(image, { ...container, container: 'other' })
      await collect()
      expect(existsSync(image.root)).toBe(true)
      roots.letGo(image, container)
      roots.letGo(image, container)
      await collect()
      expect(existsSync(image.root)).toBe(false)
    })

    it('says that an image is gone when it is too late to hold it', async () => {
      const { roots, add, remove } = open()
      await add()
      const image = required(roots.find('web:1'))
      await remove()
      expect(roots.hold(image, container)).toBe(false)
    })

    it('holds over a restart what containers that go on still use, and nothing else', async () => {
      const { roots, add, remove, collect, reopened } = open()
      await add()
      const image = required(roots.find('web:1'))
      roots.hold(image, container)
      roots.hold(image, { podUid: 'gone', container: 'main' })
      await remove()
      reopened().keepOnly([container])
      await collect()
      expect(existsSync(image.root)).toBe(true)
      reopened().keepOnly([])
      await collect()
      expect(existsSync(image.root)).toBe(false)
    })

    it('needs no holding of folders that the operator of the machine has named', () => {
      const { roots } = open()
      const config = {
        entrypoint: [],
        cmd: [],
        env: {},
        user: '',
        workingDir: '',
        exposedPorts: [],
        stopSignal: undefined,
      }
      const named = { found: 'root', root: '/srv', id: '', config } as const
      expect(roots.hold(named, container)).toBe(true)
      roots.letGo(named, container)
    })
  })
}
