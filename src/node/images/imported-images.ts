import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ImageConfig, readImageConfig } from './image-config.ts'
import { ImageFolders } from './image-folders.ts'
import { ImageIndex, type ImageRecord } from './image-index.ts'
import { type ImageReference, parseReference, storedNames } from './image-reference.ts'

/** An unpacked image: the files that become a container's root, and its configuration. */
export interface RootImage {
  readonly found: 'root'
  /** The root's folder, which is never written to. */
  readonly root: string
  readonly config: ImageConfig
  /** `sha256:…`, shown in the status of containers. Empty for a folder that the machine's operator configured. */
  readonly id: string
}

/** The interface to images with their own files, for the runtime. */
export interface ImageRoots {
  /** Finds an image by the name in a Pod; looked up each time, because images come and go while Pods run. */
  find(image: string): RootImage | undefined
  /** The existing names, for messages. */
  names(): readonly string[]
  /**
   * Keeps the files of an image until the container is let go, even if its name is removed. `false` if the files are
   * already gone. Holding twice is the same as once.
   */
  hold(image: RootImage, container: ContainerHolder): boolean
  letGo(image: Pick<RootImage, 'id'>, container: ContainerHolder): void
  /** At a start: lets go of everything held for other containers than these. */
  keepOnly(containers: readonly ContainerHolder[]): void
}

export interface ContainerHolder {
  readonly podUid: string
  readonly container: string
}

/** Images that `sluice image import` has put into a data directory. They may change at any time. */
export class ImportedImages implements ImageRoots {
  readonly #folders: ImageFolders
  readonly #index: ImageIndex
  readonly #registries: () => readonly string[]
  readonly #owner: string
  readonly #configs = new Map<string, ImageConfig>()

  /**
   * `registry` is that of the cluster's compute center, or all that it has had: what follows it in an image's name may
   * be the name of any image. `owner` is the node whose containers hold images through it, where several share them.
   */
  constructor(folder: string, registry?: string | (() => readonly string[]), owner = '') {
    this.#folders = new ImageFolders(folder)
    this.#index = new ImageIndex(this.#folders.index)
    this.#registries = typeof registry === 'function' ? registry : () => (registry === undefined ? [] : [registry])
    this.#owner = owner
  }

  find(image: string): RootImage | undefined {
    const records = this.#index.read()
    for (const wanted of this.#namesOf(image)) {
      const record = records.find((candidate) => isMeant(candidate, wanted))
      if (!record || !this.#folders.hasRoot(record.id)) continue
      const { id } = record
      return { found: 'root', root: join(this.#folders.root(id), 'rootfs'), id, config: this.#configOf(record) }
    }
    return undefined
  }

  #namesOf(image: string): readonly ImageReference[] {
    const registries = this.#registries()
    if (registries.length === 0) return storedNames(image, undefined)
    return registries.flatMap((registry) => storedNames(image, registry))
  }

  names(): readonly string[] {
    return this.#index.read().map(({ name }) => name)
  }

  hold({ id }: Pick<RootImage, 'id'>, container: ContainerHolder): boolean {
    return id === '' || this.#folders.hold(id, this.#holderName(container))
  }

  letGo({ id }: Pick<RootImage, 'id'>, container: ContainerHolder): void {
    if (id !== '') this.#folders.letGo(id, this.#holderName(container))
  }

  keepOnly(containers: readonly ContainerHolder[]): void {
    const known = new Set(containers.map((container) => this.#holderName(container)))
    this.#folders.letGoUnless((holder) => known.has(holder) || ownerOf(holder) !== this.#owner)
  }

  /** Names of Pods' containers have no dots and uids no `@`, so no two are the same. */
  #holderName({ podUid, container }: ContainerHolder): string {
    const holder = `${encodeURIComponent(podUid)}.${container}`
    return this.#owner === '' ? holder : `${this.#owner}@${holder}`
  }

  /** A configuration never changes, since the image is identified by its digest. */
  #configOf({ id }: ImageRecord): ImageConfig {
    const known = this.#configs.get(id)
    if (known) return known
    const config = readImageConfig(readFileSync(join(this.#folders.root(id), 'config.json')))
    // Drops configurations of removed images; reading one again is fast.
    if (this.#configs.size >= 100) this.#configs.clear()
    this.#configs.set(id, config)
    return config
  }
}

function isMeant(record: ImageRecord, { registry, repository, tag, digest }: ImageReference): boolean {
  const named = parseReference(record.name)
  if (named?.registry !== registry || named.repository !== repository) return false
  return digest === undefined ? named.tag === tag : record.digests.includes(digest) || record.id === digest
}

function ownerOf(holder: string): string {
  return holder.includes('@') ? (holder.split('@')[0] ?? '') : ''
}
