import { z } from 'zod'
import { SluiceError } from '../foundation/errors.ts'
import { type ImageEntry, repositoryOf } from './image-store.ts'

const imagesSchema = z.record(
  z.string(),
  z.strictObject({ command: z.array(z.string().min(1)).min(1), env: z.record(z.string(), z.string()).optional() }),
)

/**
 * What the machine's operator adds to the image store, as the `images` of a configuration file:
 * `{"<registry>/<name>": {"command": ["/opt/tool/bin/serve"], "env": {"MODE": "fast"}}}`. `source` names the file in errors.
 */
export function parseImages(value: unknown, source: string): Record<string, ImageEntry> {
  const result = imagesSchema.safeParse(value)
  if (!result.success) {
    const [issue] = result.error.issues
    throw invalid(source, `${['images', ...(issue?.path ?? [])].join('.')}: ${issue?.message ?? 'is malformed'}`)
  }
  const entries = Object.entries(result.data)
  const tagged = entries.find(([name]) => name === '' || repositoryOf(name) !== name)
  if (tagged) throw invalid(source, `images: "${tagged[0]}" must be the name of an image without tag and digest`)
  return Object.fromEntries(
    entries.map(([name, { command, env }]) => [name, env === undefined ? { command } : { command, env }]),
  )
}

function invalid(flag: string, reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag, reason })
}
