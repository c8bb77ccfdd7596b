import { randomBytes } from 'node:crypto'
import { z } from 'zod'

const fileSchema = z.looseObject({ adminToken: z.string().optional() })

/** The content of a file that identifies a cluster, without the token of its administrator. */
export function withoutToken(text: string): string {
  const { adminToken: _, ...rest } = fileSchema.parse(JSON.parse(text))
  return format(rest)
}

/** The same with a new token, where it has none. */
export function withToken(text: string): string {
  const content = fileSchema.parse(JSON.parse(text))
  if (content.adminToken !== undefined) return text
  return format({ ...content, adminToken: randomBytes(32).toString('base64url') })
}

function format(content: object): string {
  return `${JSON.stringify(content, null, 2)}\n`
}
