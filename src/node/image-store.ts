/** What runs an image on this machine. */
export type ImageEntry =
  | { readonly command: readonly string[]; readonly env?: Readonly<Record<string, string>> }
  | { readonly unavailable: string }

export type ImageLookup =
  | { readonly found: 'program'; readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly found: 'nothing'; readonly message: string }

/** Images are names of programs here: maps a repository (`<registry>/sluice/llama-cpp`) to what runs it; tags do not matter. */
export class ImageStore {
  readonly #entries: ReadonlyMap<string, ImageEntry>

  constructor(entries: Readonly<Record<string, ImageEntry>>) {
    this.#entries = new Map(Object.entries(entries))
  }

  lookup(image: string): ImageLookup {
    const repository = repositoryOf(image)
    const entry = this.#entries.get(repository)
    if (!entry) {
      const known = [...this.#entries.keys()].sort().join(', ') || 'none'
      return { found: 'nothing', message: `This node has no program for the image "${image}". It knows: ${known}.` }
    }
    if ('unavailable' in entry) return { found: 'nothing', message: `${repository}: ${entry.unavailable}` }
    return { found: 'program', command: entry.command, env: entry.env ?? {} }
  }
}

/** The name without tag and digest. A colon before the last slash belongs to the registry's port. */
export function repositoryOf(image: string): string {
  const [withTag = ''] = image.split('@')
  const colon = withTag.lastIndexOf(':')
  return colon > withTag.lastIndexOf('/') ? withTag.slice(0, colon) : withTag
}
