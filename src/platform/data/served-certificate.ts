import { readFile } from 'node:fs/promises'
import { checkedLeaf } from '../../exposure/certificates/secret-certificate.ts'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import { errorMessage, SluiceError } from '../../foundation/errors.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { KeyAndCertificate } from './certificates.ts'

/** The paths of a certificate with its chain, and of its key. */
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
  /** If `undefined`, the certificate that this installation has issued is served. */
  readonly files: CertificateFiles | undefined
  readonly made: CertificateSource
  readonly clock: Clock
  readonly log: Logger
}

/** Checked regularly, since file system events get lost when a whole folder is replaced, as with mounted Secrets. */
const lookMs = 5_000

/**
 * The certificate that the edge shows for hosts without their own: the current content of the files, or the issued one.
 */
export class ServedCertificate implements Component, CertificateSource {
  readonly name = 'certificate of the edge'
  readonly #options: ServedCertificateOptions
  readonly #listeners = new Set<() => void>()
  /** What the files contained. */
  #read: KeyAndCertificate | undefined
  /** The last problem that was logged, so that it is not logged again. */
  #problem: string | undefined
  #cancel: CancelTimer = () => {}
  #stopped = false

  private constructor(options: ServedCertificateOptions, read: KeyAndCertificate | undefined) {
    this.#options = options
    this.#read = read
  }

  /**
   * Refuses files that cannot be used. If they become unusable later, that is only logged, and the last good ones stay.
   */
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
      // It may be in the middle of being written. Until then the last good one is shown.
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
