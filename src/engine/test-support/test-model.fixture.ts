import { existsSync } from 'node:fs'
import { symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { knownModels } from '../models/known-models.ts'

/**
 * The real model for tests: the one that SLUICE_TEST_MODEL names, or one that was pulled into this machine's cache
 * before.
 */
export function findTestModel(): string | undefined {
  const named = process.env['SLUICE_TEST_MODEL']
  if (named) return existsSync(named) ? named : undefined
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const file = join(cache, 'sluice', 'models', `${knownModels['smollm2']?.sha256}.gguf`)
  return existsSync(file) ? file : undefined
}

export const testModelMissing =
  'SmolLM2 is not on this machine: run `sluice model pull smollm2 --cache-only`, or set SLUICE_TEST_MODEL'

/** Puts the model into a folder with the same layout as `sluice model pull smollm2`. */
export async function layOutTestModel(file: string, folder: string): Promise<void> {
  await symlink(file, join(folder, 'model.gguf'))
  for (const [name, text] of Object.entries(knownModels['smollm2']?.companions ?? {})) {
    await writeFile(join(folder, name), text)
  }
}
