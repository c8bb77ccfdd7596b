import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const credentials = z.object({ accessKey: z.string(), secretKey: z.string() })

/** A credential from the key pair that the first start on a data directory has made. */
export function managementCredential(data: string): string {
  const { accessKey, secretKey } = credentials.parse(JSON.parse(readFileSync(join(data, 'credentials.json'), 'utf8')))
  return `plain Credential=${accessKey},Signature=${secretKey}`
}
