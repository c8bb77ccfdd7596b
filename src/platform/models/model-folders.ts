import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const weights = /\.(gguf|safetensors)$/
/** How deep models are looked for: `models/ORG/NAME/file`. */
const deepest = 4
const mostFolders = 200
/** Of one folder. */
const mostEntries = 1_000

/** Folders of a claim that hold the weights of a model, relative to it. Links are not followed. */
export async function modelFolders(root: string): Promise<readonly string[]> {
  const found = new Set<string>()
  const look = async (path: string, depth: number): Promise<void> => {
    const entries = await readdir(join(root, path), { withFileTypes: true }).catch(() => [])
    for (const entry of entries.slice(0, mostEntries)) {
      if (found.size >= mostFolders) return
      const inside = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.isFile() && weights.test(entry.name)) found.add(path === '' ? inside : dirname(inside))
      else if (entry.isDirectory() && depth < deepest && !entry.name.startsWith('.')) await look(inside, depth + 1)
    }
  }
  await look('', 1)
  return [...found].sort()
}
