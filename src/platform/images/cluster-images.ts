import { imagesFolder } from '../../node/images/image-folders.ts'
import { type ImageEntry, ImageStore } from '../../node/images/image-store.ts'
import { ImportedImages } from '../../node/images/imported-images.ts'
import { type EnginePrograms, enginePrograms } from './image-entries.ts'

export interface ClusterImagesOptions {
  /** Where `sluice image import` puts images, for all clusters of the machine. */
  readonly dataDirectory: string
  /** What the machine's operator added. */
  readonly configured: Readonly<Record<string, ImageEntry>>
  /** Of the cluster's compute center, as it is at the moment. */
  readonly registry: () => string
  /** Whose containers hold images, where several clusters share them; of the home cluster, nothing. */
  readonly owner: string
}

/** What images mean in a cluster. Those of a registry that the center had before go on being known to Pods of then. */
export class ClusterImages {
  readonly store: ImageStore
  readonly #options: ClusterImagesOptions
  readonly #byRegistry = new Map<string, EnginePrograms>()
  #entries: Readonly<Record<string, ImageEntry>> = {}

  constructor(options: ClusterImagesOptions) {
    this.#options = options
    const { dataDirectory, registry, owner } = options
    const imported = new ImportedImages(imagesFolder(dataDirectory), registry, owner)
    this.store = new ImageStore(() => this.#known(), imported)
  }

  /** Why the engine VLLM cannot run here. */
  get vllmUnavailable(): string | undefined {
    return this.#programs().vllmUnavailable
  }

  #known(): Readonly<Record<string, ImageEntry>> {
    this.#programs()
    return this.#entries
  }

  #programs(): EnginePrograms {
    const registry = this.#options.registry()
    let programs = this.#byRegistry.get(registry)
    if (!programs) {
      programs = enginePrograms(registry, this.#options.configured)
      this.#byRegistry.set(registry, programs)
      this.#entries = { ...this.#entries, ...programs.images }
    }
    return programs
  }
}
