import { z } from 'zod'
import { SluiceError, errorMessage } from '../foundation/errors.ts'
import { type ImageEntry, repositoryOf } from './image-store.ts'

const imageFileSchema = z.strictObject({
  images: z.record(
    z.string(),
    z.strictObject({ command: z.array(z.string().min(1)).min(1), env: z.record(z.string(), z.string()).optional() }),
  ),
})

/**
 * What the machine's operator adds to the image store, as a JSON file:
 * `{"images": {"<registry>/<name>": {"command": ["/opt/tool/bin/serve"], "env": {"MODE": "fast"}}}}`.
 */
export function parseImageFile(text: string, flag: string): Record<string, ImageEntry> {
  const result = imageFileSchema.safeParse(parseJson(text, flag))
  if (!result.success) {
    const [issue] = result.error.issues
    throw invalid(flag, `${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'is malformed'}`)
  }
  const entries = Object.entries(result.data.images)
  const tagged = entries.find(([name]) => name === '' || repositoryOf(name) !== name)
  if (tagged) throw invalid(flag, `"${tagged[0]}" must be the name of an image without tag and digest`)
  return Object.fromEntries(
    entries.map(([name, { command, env }]) => [name, env === undefined ? { command } : { command, env }]),
  )
}

function parseJson(text: string, flag: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalid(flag, errorMessage(error))
  }
}

function invalid(flag: string, reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag, reason })
}
