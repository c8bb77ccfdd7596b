import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { parseImages } from '../../node/images/image-file.ts'
import type { ImageEntry } from '../../node/images/image-store.ts'
import { parseProfiles } from '../../operator/profile-file.ts'
import type { ProfileTable } from '../../operator/resource-profile.ts'

/** What the operator of the machine adds: programs for images, and what resource profiles mean. */
export interface ConfigFile {
  readonly images: Readonly<Record<string, ImageEntry>>
  readonly profiles: ProfileTable
}

const flag = '--config'
const sectionsSchema = z.strictObject({ images: z.unknown().optional(), profiles: z.unknown().optional() })

/** Reads `--config FILE`; without one, nothing is added to what is built in. */
export async function readConfigFile(path: string | undefined): Promise<ConfigFile> {
  const sections = sectionsSchema.safeParse(path === undefined ? {} : await readYaml(path))
  if (!sections.success) throw refused(`${path ?? ''}: ${sections.error.issues[0]?.message ?? 'is malformed'}`)
  const { images, profiles } = sections.data
  return { images: parseImages(images ?? {}, flag), profiles: parseProfiles(profiles ?? {}, flag) }
}

async function readYaml(path: string): Promise<unknown> {
  // Most have no such file; the library takes memory as long as the program runs.
  const { parse } = await import('yaml')
  try {
    // Every JSON text is YAML, too. An empty file says nothing.
    return parse(readFileSync(path, 'utf8')) ?? {}
  } catch (error) {
    throw refused(`${path}: ${errorMessage(error)}`)
  }
}

function refused(reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag, reason })
}
