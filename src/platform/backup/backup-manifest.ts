import { z } from 'zod'

/** In the archive, tells what it is. */
export const manifestFile = 'backup.json'
/** What a version of this program cannot read has a higher number. */
export const backupFormat = 1

const manifestSchema = z.object({
  format: z.number().int(),
  sluice: z.string(),
  madeAt: z.string(),
  /** Whether private keys and the administrators' tokens are in it. */
  keys: z.boolean(),
  /** Whether the files of claims are in it. */
  claims: z.boolean(),
})
export type BackupManifest = z.infer<typeof manifestSchema>

/** `undefined` where it is none. */
export function parseManifest(text: string): BackupManifest | undefined {
  try {
    return manifestSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
