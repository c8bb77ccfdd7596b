import { statSync } from 'node:fs'
import { errorMessage } from '../../foundation/errors.ts'
import type { ImageRoots, RootImage } from './imported-images.ts'

/** What an image name stands for, as defined by this program or the machine's operator. */
export type ImageEntry =
  /** A program of the machine. */
  | {
      readonly command: readonly string[]
      readonly env?: Readonly<Record<string, string>>
      /** Files and folders that the program needs besides what every container sees of the machine. */
      readonly visible?: readonly string[]
      /**
       * Mount path of a folder that all its containers in a namespace share and that outlives them, for things that
       * take long to make.
       */
      readonly kept?: string
    }
  /** A folder of the machine that becomes the container's root. */
  | {
      readonly root: string
      readonly entrypoint: readonly string[]
      readonly env: Readonly<Record<string, string>>
      readonly user: string
      readonly workingDir: string
    }
  /** An OCI layout, imported at every start; `ref` chooses one of several images in it. */
  | { readonly oci: string; readonly ref?: string }
  | { readonly unavailable: string }

export type ImageLookup = FoundImage | { readonly found: 'nothing'; readonly message: string }

export type FoundImage =
  | {
      readonly found: 'program'
      readonly command: readonly string[]
      readonly env: Readonly<Record<string, string>>
      readonly visible: readonly string[]
      readonly kept: string | undefined
    }
  | RootImage

const mostNamesShown = 20

/**
 * Resolves image names. What the operator defined applies to a repository (`<registry>/sluice/llama-cpp`) with any tag;
 * imported images come second.
 */
export class ImageStore {
  readonly #entries: () => Readonly<Record<string, ImageEntry>>
  /** Images with files of their own; whoever runs one holds it. */
  readonly roots: ImageRoots | undefined

  /** What the operator says may change while images are looked up. */
  constructor(
    entries: Readonly<Record<string, ImageEntry>> | (() => Readonly<Record<string, ImageEntry>>),
    roots?: ImageRoots,
  ) {
    this.#entries = typeof entries === 'function' ? entries : () => entries
    this.roots = roots
  }

  lookup(image: string): ImageLookup {
    try {
      return this.#find(image)
    } catch (error) {
      return { found: 'nothing', message: `The image "${image}" cannot be read: ${errorMessage(error)}` }
    }
  }

  #find(image: string): ImageLookup {
    const repository = repositoryOf(image)
    const entries = this.#entries()
    const entry = Object.hasOwn(entries, repository) ? entries[repository] : undefined
    if (!entry) return this.roots?.find(image) ?? this.#unknown(image)
    if ('unavailable' in entry) return { found: 'nothing', message: `${repository}: ${entry.unavailable}` }
    if ('command' in entry) {
      const { command, env = {}, visible = [], kept } = entry
      // The program itself, and a script it may run.
      const seen = [...visible, ...command.filter((word) => word.startsWith('/'))]
      return { found: 'program', command, env, visible: seen, kept }
    }
    if ('oci' in entry) {
      const message = `${repository}: the OCI layout ${entry.oci} has not been unpacked; the log says why, or that it will be soon`
      return this.roots?.find(layoutName(repository)) ?? { found: 'nothing', message }
    }
    const { root, entrypoint, env, user, workingDir } = entry
    if (statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true) {
      return { found: 'nothing', message: `${repository}: there is no folder ${root}` }
    }
    const config = { entrypoint, cmd: [], env, user, workingDir, exposedPorts: [], stopSignal: undefined }
    return { found: 'root', root, id: '', config }
  }

  #unknown(image: string): ImageLookup {
    const names = [...Object.keys(this.#entries()), ...(this.roots?.names() ?? [])].sort()
    const more = names.length > mostNamesShown ? [`${names.length - mostNamesShown} more`] : []
    const known = [...names.slice(0, mostNamesShown), ...more].join(', ') || 'none'
    return { found: 'nothing', message: `This node has no program for the image "${image}". It knows: ${known}.` }
  }
}

/** The name in the store of an image from a configured OCI layout. */
export function layoutName(repository: string): string {
  return `${repository}:latest`
}

/** The name without tag and digest. A colon before the last slash is part of the registry. */
export function repositoryOf(image: string): string {
  const [withTag = ''] = image.split('@')
  const colon = withTag.lastIndexOf(':')
  return colon > withTag.lastIndexOf('/') ? withTag.slice(0, colon) : withTag
}
