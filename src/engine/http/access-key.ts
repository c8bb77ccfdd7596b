import { createHash, timingSafeEqual } from 'node:crypto'
import { SluiceError } from '../../foundation/errors.ts'

/** Where other engines look for their key, too. */
export interface KeyEnvironment {
  VLLM_API_KEY?: string | undefined
  LLAMA_API_KEY?: string | undefined
}

/** The key that requests must carry: the flag's, else the environment's; without either everybody may ask. */
export function accessKeyOf(flag: string | undefined, environment: KeyEnvironment): string | undefined {
  return [flag, environment.VLLM_API_KEY, environment.LLAMA_API_KEY].find((key) => key !== undefined && key !== '')
}

/**
 * Throws unless the header carries the key. What a wrong key has in common with the right one cannot be told from the
 * time it takes.
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
