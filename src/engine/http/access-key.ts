import { createHash, timingSafeEqual } from 'node:crypto'
import { SluiceError } from '../../foundation/errors.ts'

/** The variables in which other engines look for their key, too. */
export interface KeyEnvironment {
  VLLM_API_KEY?: string | undefined
  LLAMA_API_KEY?: string | undefined
}

/** The key that requests must carry: the flag's, else the environment's. Without either, no key is needed. */
export function accessKeyOf(flag: string | undefined, environment: KeyEnvironment): string | undefined {
  return [flag, environment.VLLM_API_KEY, environment.LLAMA_API_KEY].find((key) => key !== undefined && key !== '')
}

/**
 * Checks the key in the header of a request, and throws if it is not the right one. The comparison takes the same time
 * for every wrong key, so that the time reveals nothing about the right one.
 */
export class AccessCheck {
  readonly #digest: Buffer

  constructor(key: string) {
    this.#digest = digestOf(key)
  }

  admit(authorization: string | undefined): void {
    const [, presented = ''] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
    if (!timingSafeEqual(digestOf(presented), this.#digest)) throw new SluiceError('engine_key_required')
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
