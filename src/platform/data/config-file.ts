import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { parseImages } from '../../node/images/image-file.ts'
import type { ImageEntry } from '../../node/images/image-store.ts'
import { parseEngines } from '../../operator/engines/engine-file.ts'
import type { EngineTable } from '../../operator/engines/engine.ts'
import { parseProfiles } from '../../operator/profile-file.ts'
import type { ProfileTable } from '../../operator/resource-profile.ts'

/** What the operator of the machine or cluster adds: programs for images, engines, and resource profiles. */
export interface ConfigFile {
  readonly images: Readonly<Record<string, ImageEntry>>
  readonly engines: EngineTable
  readonly profiles: ProfileTable
}

const flag = '--config'
const sectionsSchema = z.strictObject({
  images: z.unknown().optional(),
  engines: z.unknown().optional(),
  profiles: z.unknown().optional(),
})

/** Reads the file given by `--config`. Without one, only the built-in settings apply. */
export async function readConfigFile(path: string | undefined): Promise<ConfigFile> {
  const sections = sectionsSchema.safeParse(path === undefined ? {} : await readYaml(path))
  if (!sections.success) throw refused(`${path ?? ''}: ${sections.error.issues[0]?.message ?? 'is malformed'}`)
  const { images, engines, profiles } = sections.data
  return {
    images: parseImages(images ?? {}, flag),
    engines: parseEngines(engines ?? {}, flag),
    profiles: parseProfiles(profiles ?? {}, flag),
  }
}

async function readYaml(path: string): Promise<unknown> {
  // Loaded only if needed, since few have such a file, and the library stays in memory.
  const { parse } = await import('yaml')
  try {
    // YAML includes JSON. An empty file parses to null.
    return parse(readFileSync(path, 'utf8')) ?? {}
  } catch (error) {
    throw refused(`${path}: ${errorMessage(error)}`)
  }
}

function refused(reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag, reason })
}
