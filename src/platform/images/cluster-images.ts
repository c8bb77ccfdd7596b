import { z } from 'zod'
import { imagesFolder } from '../../node/images/image-folders.ts'
import { type ImageEntry, ImageStore, repositoryOf } from '../../node/images/image-store.ts'
import { ImportedImages } from '../../node/images/imported-images.ts'
import type { DataFolder } from '../data/data-directory.ts'
import { enginePrograms } from './image-entries.ts'

export interface ClusterImagesOptions {
  /** The cluster's own folder. */
  readonly folder: DataFolder
  /** Where `sluice image import` puts images, for all clusters of the machine. */
  readonly dataDirectory: string
  /** Images that the machine's operator has added. */
  readonly configured: Readonly<Record<string, ImageEntry>>
  /** The current image registry of the cluster's compute center. */
  readonly registry: () => string
  /** Identifies the cluster in the records of which containers use an image. Empty for the home cluster. */
  readonly owner: string
}

const file = 'registries.json'
const mostKept = 20
const kept = z.array(z.string())

/**
 * The images of a cluster. If its center gets another registry, Pods from before can still use images of the old one,
 * as on a node that has pulled them.
 */
export class ClusterImages {
  readonly store: ImageStore
  readonly #options: ClusterImagesOptions
  /** The registries, the latest last. */
  readonly #learnt = new Set<string>()
  #entries: Readonly<Record<string, ImageEntry>> = {}

  constructor(options: ClusterImagesOptions) {
    this.#options = options
    const { dataDirectory, owner, folder } = options
    for (const registry of readRegistries(folder)) this.#learn(registry)
    const imported = new ImportedImages(imagesFolder(dataDirectory), () => this.#registries(), owner)
    this.store = new ImageStore(() => this.#known(), imported)
  }

  /** Why an image of ours has no program on this machine; undefined if it has, or if it is not ours. */
  whyUnavailable(image: string): string | undefined {
    const entries = this.#known()
    const repository = repositoryOf(image)
    const entry = Object.hasOwn(entries, repository) ? entries[repository] : undefined
    return entry && 'unavailable' in entry ? entry.unavailable : undefined
  }

  #known(): Readonly<Record<string, ImageEntry>> {
    this.#current()
    return this.#entries
  }

  /** The current one first. */
  #registries(): readonly string[] {
    this.#current()
    return [...new Set([this.#options.registry(), ...this.#learnt])]
  }

  #current(): void {
    const registry = this.#options.registry()
    if (this.#learnt.has(registry)) return
    this.#learn(registry)
    const registries = [...this.#learnt].slice(-mostKept)
    this.#options.folder.write(file, `${JSON.stringify(registries)}\n`)
  }

  #learn(registry: string): void {
    this.#learnt.add(registry)
    this.#entries = { ...this.#entries, ...enginePrograms(registry, this.#options.configured) }
  }
}

function readRegistries(folder: DataFolder): readonly string[] {
  try {
    return kept.parse(JSON.parse(folder.read(file) ?? '[]')).slice(-mostKept)
  } catch {
    // The file only helps older Pods, so a start must not fail if it cannot be read.
    return []
  }
}
