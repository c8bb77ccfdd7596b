import { readFile } from 'node:fs/promises'
import { checkedLeaf } from '../../exposure/certificates/secret-certificate.ts'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import { errorMessage, SluiceError } from '../../foundation/errors.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { KeyAndCertificate } from './certificates.ts'

/** Paths of a certificate with its chain, and of its key. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

/** A certificate that may be replaced. */
export interface CertificateSource {
  readonly current: KeyAndCertificate
  onChange(listener: () => void): () => void
}

export interface ServedCertificateOptions {
  /** Undefined serves what this installation has made for itself. */
  readonly files: CertificateFiles | undefined
  readonly made: CertificateSource
  readonly clock: Clock
  readonly log: Logger
}

/** Notices of the file system get lost where a folder is swapped, as it is with mounted Secrets: so it is looked. */
const lookMs = 5_000

/** What the edge shows where a host has nothing of its own: the files' content as it is now, or what was made. */
export class ServedCertificate implements Component, CertificateSource {
  readonly name = 'certificate of the edge'
  readonly #options: ServedCertificateOptions
  readonly #listeners = new Set<() => void>()
  /** Of the files. */
  #read: KeyAndCertificate | undefined
  /** What was told already of files that cannot be used. */
  #problem: string | undefined
  #cancel: CancelTimer = () => {}
  #stopped = false

  private constructor(options: ServedCertificateOptions, read: KeyAndCertificate | undefined) {
    this.#options = options
    this.#read = read
  }

  /** Refuses files that cannot be used: later ones are reported in the log, and those before them kept. */
  static async open(options: ServedCertificateOptions): Promise<ServedCertificate> {
    if (!options.files) return new ServedCertificate(options, undefined)
    try {
      return new ServedCertificate(options, await readPair(options.files))
    } catch (error) {
      throw new SluiceError('invalid_flag', { flag: '--exposure-cert', reason: errorMessage(error) }, { cause: error })
    }
  }

  get current(): KeyAndCertificate {
    return this.#read ?? this.#options.made.current
  }

  onChange(listener: () => void): () => void {
    if (!this.#options.files) return this.#options.made.onChange(listener)
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  start(): void {
    if (this.#options.files) this.#lookLater(this.#options.files)
  }

  stop(): void {
    this.#stopped = true
    this.#cancel()
  }

  #lookLater(files: CertificateFiles): void {
    this.#cancel = this.#options.clock.after(lookMs, () => {
      void this.#look(files).finally(() => {
        if (!this.#stopped) this.#lookLater(files)
      })
    })
  }

  async #look(files: CertificateFiles): Promise<void> {
    const { log } = this.#options
    try {
      const found = await readPair(files)
      this.#problem = undefined
      if (found.cert === this.#read?.cert && found.key === this.#read.key) return
      this.#read = found
      log.info({ path: files.cert }, 'the edge shows another certificate')
      for (const listener of this.#listeners) listener()
    } catch (error) {
      // Perhaps it is being written; the one before is shown until then.
      const problem = errorMessage(error)
      if (problem !== this.#problem) log.warn({ path: files.cert, problem }, 'the certificate cannot be used')
      this.#problem = problem
    }
  }
}

async function readPair({ cert, key }: CertificateFiles): Promise<KeyAndCertificate> {
  const [certText, keyText] = await Promise.all([readFile(cert, 'utf8'), readFile(key, 'utf8')])
  const pair = { cert: certText, key: keyText }
  checkedLeaf(pair)
  return pair
}
