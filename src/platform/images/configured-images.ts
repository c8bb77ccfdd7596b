import { execFile } from 'node:child_process'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { type ImageEntry, layoutName } from '../../node/images/image-store.ts'
import { mainProgram } from './own-program.ts'

const longestImportMs = 3_600_000

export interface ConfiguredImagesOptions {
  readonly images: Readonly<Record<string, ImageEntry>>
  readonly dataDirectory: string
  readonly log: Logger
  /** Imports an image. By default in its own process, since unpacking takes long and waits for the disk. */
  readonly run?: (words: readonly string[], signal: AbortSignal) => Promise<void>
}

/** Imports the OCI layouts that the configuration names, one by one, while everything else runs. */
export class ConfiguredImages implements Component {
  readonly name = 'configured images'
  readonly #options: ConfiguredImagesOptions
  readonly #stopping = new AbortController()
  #work: Promise<void> = Promise.resolve()

  constructor(options: ConfiguredImagesOptions) {
    this.#options = options
  }

  start(): void {
    this.#work = this.#importAll()
  }

  stop(): Promise<void> {
    this.#stopping.abort()
    return this.#work
  }

  /** Resolves when all imports have been tried. */
  get finished(): Promise<void> {
    return this.#work
  }

  async #importAll(): Promise<void> {
    const { images, dataDirectory, log, run = runImport } = this.#options
    for (const [repository, entry] of Object.entries(images)) {
      if (this.#stopping.signal.aborted || !('oci' in entry)) continue
      const words = ['image', 'import', entry.oci, '--data', dataDirectory, '--name', layoutName(repository)]
      if (entry.ref !== undefined) words.push('--ref', entry.ref)
      try {
        await run(words, this.#stopping.signal)
        log.info({ image: repository, layout: entry.oci }, 'image imported')
      } catch (error) {
        if (!this.#stopping.signal.aborted)
          log.warn({ image: repository, layout: entry.oci, err: error }, 'image not imported')
      }
    }
  }
}

function runImport(words: readonly string[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { signal, timeout: longestImportMs, killSignal: 'SIGTERM' as const }
    execFile(process.execPath, [mainProgram, ...words], options, (error, _output, said) => {
      if (error) reject(new Error(said.trim().slice(-1000) || error.message, { cause: error }))
      else resolve()
    })
  })
}
