import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** What a path of an archive is. */
export type TreeEntry =
  | { readonly kind: 'folder'; readonly mode: number }
  | { readonly kind: 'file'; readonly mode: number; readonly read: () => Buffer }
  | { readonly kind: 'link'; readonly to: string }

/** Files by their path in an archive, without a slash at the beginning. Equal content makes equal archives. */
export class FileTree {
  readonly #entries = new Map<string, TreeEntry>()

  get entries(): ReadonlyArray<readonly [string, TreeEntry]> {
    const compare = ([left]: readonly [string, TreeEntry], [right]: readonly [string, TreeEntry]) =>
      left < right ? -1 : left > right ? 1 : 0
    return [...this.#entries].toSorted(compare)
  }

  addFolder(path: string, mode = 0o755): this {
    this.#addParents(path)
    this.#entries.set(path, { kind: 'folder', mode })
    return this
  }

  addText(path: string, text: string, mode = 0o644): this {
    return this.addBytes(path, Buffer.from(text), mode)
  }

  addBytes(path: string, content: Buffer, mode = 0o644): this {
    return this.#addFile(path, mode, () => content)
  }

  addLink(path: string, to: string): this {
    return this.#add(path, { kind: 'link', to })
  }

  /** Only whether the file may be executed is kept of its mode: the rest is its owner's habit. */
  addFile(path: string, source: string): this {
    const mode = (lstatSync(source).mode & 0o100) === 0 ? 0o644 : 0o755
    return this.#addFile(path, mode, () => readFileSync(source))
  }

  /** Everything below a folder for which `isWanted` holds; it is asked with paths relative to the folder. */
  addAll(path: string, source: string, isWanted: (path: string) => boolean = () => true): this {
    const walk = (below: string) => {
      for (const { name } of readdirSync(join(source, below), { withFileTypes: true })) {
        const inside = below === '' ? name : `${below}/${name}`
        if (!isWanted(inside)) continue
        const from = join(source, inside)
        const facts = lstatSync(from)
        const to = path === '' ? inside : `${path}/${inside}`
        if (facts.isDirectory()) walk(inside)
        else if (facts.isSymbolicLink()) this.addLink(to, readlinkSync(from))
        else if (facts.isFile()) this.addFile(to, from)
      }
    }
    walk('')
    return this
  }

  #addFile(path: string, mode: number, read: () => Buffer): this {
    return this.#add(path, { kind: 'file', mode, read })
  }

  #add(path: string, entry: TreeEntry): this {
    this.#addParents(path)
    this.#entries.set(path, entry)
    return this
  }

  #addParents(path: string): void {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end)
      if (this.#entries.has(parent)) return
      this.#entries.set(parent, { kind: 'folder', mode: 0o755 })
    }
  }
}
