import { z } from 'zod'
import { imagesFolder } from '../../node/images/image-folders.ts'
import { type ImageEntry, ImageStore } from '../../node/images/image-store.ts'
import { ImportedImages } from '../../node/images/imported-images.ts'
import type { DataFolder } from '../data/data-directory.ts'
import { type EnginePrograms, enginePrograms } from './image-entries.ts'

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
  /** By registry, the latest last. */
  readonly #programs = new Map<string, EnginePrograms>()
  #entries: Readonly<Record<string, ImageEntry>> = {}

  constructor(options: ClusterImagesOptions) {
    this.#options = options
    const { dataDirectory, owner, folder } = options
    for (const registry of readRegistries(folder)) this.#learn(registry)
    const imported = new ImportedImages(imagesFolder(dataDirectory), () => this.#registries(), owner)
    this.store = new ImageStore(() => this.#known(), imported)
  }

  /** Why the engine vLLM cannot run here. */
  get vllmUnavailable(): string | undefined {
    return this.#current().vllmUnavailable
  }

  #known(): Readonly<Record<string, ImageEntry>> {
    this.#current()
    return this.#entries
  }

  /** The current one first. */
  #registries(): readonly string[] {
    this.#current()
    return [...new Set([this.#options.registry(), ...this.#programs.keys()])]
  }

  #current(): EnginePrograms {
    const registry = this.#options.registry()
    const known = this.#programs.get(registry)
    if (known) return known
    const learnt = this.#learn(registry)
    const registries = [...this.#programs.keys()].slice(-mostKept)
    this.#options.folder.write(file, `${JSON.stringify(registries)}\n`)
    return learnt
  }

  #learn(registry: string): EnginePrograms {
    const programs = enginePrograms(registry, this.#options.configured)
    this.#programs.set(registry, programs)
    this.#entries = { ...this.#entries, ...programs.images }
    return programs
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
