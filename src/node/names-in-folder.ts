import { readdirSync } from 'node:fs'

/** What is in a folder, by name; nothing where there is none, or none that may be read. */
export function namesInFolder(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}
