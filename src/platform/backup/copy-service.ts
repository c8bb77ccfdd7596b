import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { type Server, type Socket, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { removeFolder } from '../../node/volumes/remove-folder.ts'
import type { DataFolder } from '../data/data-directory.ts'
import { type CopyReply, openCopySocket } from './copy-socket.ts'
import { storeFiles } from './store-files.ts'

export interface CopyServiceOptions {
  readonly directory: DataFolder
  /** Copies a store that is in use. */
  copy(from: string, to: string): Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

/** No cluster's ID, and nothing else in a data directory, begins like this. */
const prefix = '.backup-'
/** By then, whoever asked has taken the copies, or has forgotten about them. */
const longestMs = 30 * 60_000

/**
 * Makes copies of all stores for `sluice backup`, which cannot read files that are in use. Whoever may enter the data
 * directory may connect to its socket; a connection is answered with a folder of copies, which goes with the
 * connection.
 */
export class CopyService implements Component {
  readonly name = 'backup'
  readonly #options: CopyServiceOptions
  readonly #connections = new Set<Socket>()
  #server: Server | undefined
  #socket: ReturnType<typeof openCopySocket> | undefined
  #isBusy = false
  #serving: Promise<void> = Promise.resolve()

  constructor(options: CopyServiceOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { directory, log } = this.#options
    for (const name of readdirSync(directory.root)) {
      if (name.startsWith(prefix)) await removeFolder(directory.path(name))
    }
    this.#socket = openCopySocket(directory.root)
    // A killed run leaves its socket; whoever holds the directory's lock may take its place.
    rmSync(this.#socket.path, { force: true })
    const server = createServer((connection) => {
      connection.on('error', () => {})
      if (this.#isBusy) connection.end(line({ error: 'another backup is being made' }))
      else this.#serving = this.#serve(connection)
    })
    try {
      await once(server.listen({ path: this.#socket.path }), 'listening')
      this.#server = server
    } catch (error) {
      // Some file systems have no sockets. Everything else works there.
      log.warn({ err: error }, 'this data directory can only be backed up while Sluice is stopped')
    }
  }

  async stop(): Promise<void> {
    for (const connection of this.#connections) connection.destroy()
    await this.#serving
    if (this.#server) await new Promise<void>((resolve) => this.#server?.close(() => resolve()))
    this.#server = undefined
    this.#socket?.close()
    this.#socket = undefined
  }

  async #serve(connection: Socket): Promise<void> {
    const { clock, log } = this.#options
    this.#isBusy = true
    this.#connections.add(connection)
    const closed = once(connection, 'close').catch(() => {})
    const cancelDeadline = clock.after(longestMs, () => connection.destroy())
    connection.resume()
    const folder = this.#options.directory.path(`${prefix}${randomBytes(6).toString('hex')}`)
    try {
      await this.#copyInto(folder)
      connection.write(line({ folder }))
    } catch (error) {
      log.warn({ err: error }, 'a backup failed')
      connection.end(line({ error: errorMessage(error) }))
    }
    await closed
    cancelDeadline()
    this.#connections.delete(connection)
    await removeFolder(folder).catch((error: unknown) => log.warn({ err: error }, 'copies for a backup were left'))
    this.#isBusy = false
  }

  async #copyInto(folder: string): Promise<void> {
    const { root } = this.#options.directory
    for (const file of storeFiles(root)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true, mode: 0o700 })
      await this.#options.copy(join(root, file), join(folder, file))
    }
  }
}

function line(reply: CopyReply): string {
  return `${JSON.stringify(reply)}\n`
}
