import { closeSync, constants, openSync } from 'node:fs'
import { z } from 'zod'

const name = 'backup.sock'

/**
 * The socket in a data directory at which its Sluice makes copies of its stores. Addresses of sockets are at most 108
 * bytes long, and directories are not, so it is reached through an open file. To be closed when it is not used any
 * more.
 */
export function openCopySocket(directory: string): { readonly path: string; close(): void } {
  const folder = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY)
  return { path: `/proc/self/fd/${folder}/${name}`, close: () => closeSync(folder) }
}

const replySchema = z.union([z.object({ folder: z.string() }), z.object({ error: z.string() })])
/** What the Sluice answers: where the copies are, as long as the connection is open; or why there are none. */
export type CopyReply = z.infer<typeof replySchema>

export function parseReply(line: string): CopyReply {
  return replySchema.parse(JSON.parse(line))
}
