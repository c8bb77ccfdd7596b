import { readdirSync } from 'node:fs'

/** The sorted names in a folder; none if it does not exist or cannot be read. */
export function namesInFolder(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}
