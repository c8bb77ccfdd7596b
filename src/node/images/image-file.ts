import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { SluiceError } from '../../foundation/errors.ts'
import { type ImageEntry, layoutName, repositoryOf } from './image-store.ts'
import { parseReference } from './image-reference.ts'

const words = z.array(z.string().min(1)).min(1)
const variables = z.record(z.string(), z.string())
const place = z.string().refine((path) => isAbsolute(path) && !/^\/+$/.test(path), 'must be an absolute path below /')
const folder = z
  .string()
  .refine((path) => isAbsolute(path) && !/^\/+$/.test(path), 'must be the absolute path of a folder')

const entrySchema = z.union([
  z.strictObject({ command: words, env: variables.optional(), visible: z.array(place).optional() }),
  z.strictObject({
    root: folder,
    command: words.optional(),
    env: variables.optional(),
    user: z.string().optional(),
    workingDir: z.string().startsWith('/').optional(),
  }),
  z.strictObject({ oci: folder, ref: z.string().min(1).optional() }),
])

/**
 * Parses the `images` of a configuration file, by which the machine's operator adds to the image store: for each name a
 * program of the machine (`{"command": ["/opt/tool/bin/serve"], "env": {"MODE": "fast"}}`), a folder that becomes the
 * container's root (`{"root": "/srv/roots/tool", …}`), or an OCI layout (`{"oci": "/srv/layouts/tool"}`). `source`
 * names the file in errors.
 */
export function parseImages(value: unknown, source: string): Record<string, ImageEntry> {
  const table = z.record(z.string(), z.unknown()).safeParse(value)
  if (!table.success) throw invalid(source, `images: ${table.error.issues[0]?.message ?? 'is malformed'}`)
  return Object.fromEntries(
    Object.entries(table.data).map(([name, written]) => [name, parseEntry(name, written, source)]),
  )
}

function parseEntry(name: string, written: unknown, source: string): ImageEntry {
  if (name === '' || repositoryOf(name) !== name) {
    throw invalid(source, `images: "${name}" must be the name of an image without tag and digest`)
  }
  const [issue] = schemaFor(written).safeParse(written).error?.issues ?? []
  if (issue) throw invalid(source, `${['images', name, ...issue.path].join('.')}: ${issue.message}`)
  const entry = entrySchema.parse(written)
  if ('oci' in entry) {
    if (!parseReference(layoutName(name))) throw invalid(source, `images: "${name}" cannot be the name of an image`)
    return entry.ref === undefined ? { oci: entry.oci } : { oci: entry.oci, ref: entry.ref }
  }
  if (!('root' in entry)) {
    const { command, env, visible } = entry
    return { command, ...(env && { env }), ...(visible && { visible }) }
  }
  const { root, command = [], env = {}, user = '', workingDir = '' } = entry
  return { root, entrypoint: command, env, user, workingDir }
}

/** Picks the schema of the kind that is meant, so that errors are about that one and not about all three. */
function schemaFor(written: unknown): z.ZodType {
  const [program, root, oci] = entrySchema.options
  if (typeof written !== 'object' || written === null) return program
  if ('oci' in written) return oci
  return 'root' in written ? root : program
}

function invalid(flag: string, reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag, reason })
}
