import { z } from 'zod'
import { ArchiveFault } from '../tar/archive-fault.ts'

const texts = z.array(z.string()).nullish()
const annotations = z.record(z.string(), z.string()).nullish()

const platform = z.object({ os: z.string(), architecture: z.string(), variant: z.string().nullish() })

export const descriptorSchema = z.object({
  mediaType: z.string().optional(),
  digest: z.string(),
  size: z.number().int().nonnegative(),
  platform: platform.nullish(),
  annotations,
})
export type Descriptor = z.infer<typeof descriptorSchema>

/** `index.json` of an OCI layout, and the indexes for several platforms that it may refer to. */
export const indexSchema = z.object({
  mediaType: z.string().optional(),
  manifests: z.array(descriptorSchema).max(1000),
  annotations,
})

export const manifestSchema = z.object({
  mediaType: z.string().optional(),
  config: descriptorSchema,
  layers: z.array(descriptorSchema).max(500),
})

/** `manifest.json`, docker's own list of images in an archive. */
export const dockerManifestSchema = z
  .array(z.object({ Config: z.string(), RepoTags: texts, Layers: z.array(z.string()).max(500).nullish() }))
  .max(1000)

export const configSchema = z.object({
  os: z.string(),
  architecture: z.string(),
  variant: z.string().nullish(),
  created: z.string().max(100).nullish(),
  config: z
    .object({
      User: z.string().nullish(),
      Env: texts,
      Entrypoint: texts,
      Cmd: texts,
      WorkingDir: z.string().nullish(),
      ExposedPorts: z.record(z.string(), z.unknown()).nullish(),
      StopSignal: z.string().nullish(),
      Volumes: z.record(z.string(), z.unknown()).nullish(),
    })
    .nullish(),
  rootfs: z.object({ type: z.literal('layers'), diff_ids: z.array(z.string()).max(500).nullish() }),
})
export type ConfigDocument = z.infer<typeof configSchema>

/** Parses a document; `what` names it in errors. */
export function readDocument<T>(schema: z.ZodType<T>, content: Buffer, what: string): T {
  let value: unknown
  try {
    value = JSON.parse(content.toString('utf8'))
  } catch (error) {
    throw new ArchiveFault(`${what} is not JSON`, { cause: error })
  }
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new ArchiveFault(`${what} is malformed: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`)
}
