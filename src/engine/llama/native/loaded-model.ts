import { SluiceError } from '../../../foundation/errors.ts'
import type { GgufHeader } from '../../models/gguf-header.ts'
import type { LlamaAddon, NativeModel } from './llama-addon.ts'
import { SamplerPool } from './sampler-pool.ts'

/** The number of a token in the model's vocabulary. */
export type Token = number

export interface ModelLoading {
  readonly addon: LlamaAddon
  readonly file: string
  readonly gpuLayers: number
  readonly onProgress: (fraction: number) => void
  readonly signal: AbortSignal
}

/** How many preceding tokens are decoded with others, because some vocabularies write spaces by what came before. */
const decodingContext = 3
/** Attributes of tokens, as llama.cpp numbers them. */
const controlAttribute = 1 << 3
const vocabularies = { wordPiece: 3, unigram: 4, rwkv: 5 }

/** A model file in memory: its vocabulary, and what contexts are made of. */
export class LoadedModel {
  readonly addon: LlamaAddon
  readonly native: NativeModel
  readonly header: GgufHeader
  readonly samplers: SamplerPool
  readonly vocabularySize: number
  readonly trainedLength: number
  readonly bos: Token | undefined
  readonly eos: Token | undefined
  readonly prependsBos: boolean
  readonly #eot: Token | undefined

  constructor(addon: LlamaAddon, native: NativeModel, header: GgufHeader) {
    this.addon = addon
    this.native = native
    this.header = header
    this.samplers = new SamplerPool(addon, native)
    this.vocabularySize = header.count('tokenizer.ggml.tokens') ?? 0
    this.trainedLength = native.getTrainContextSize()
    this.bos = asToken(native.tokenBos())
    this.eos = asToken(native.tokenEos())
    this.#eot = asToken(native.eotToken())
    this.prependsBos = native.shouldPrependBosToken() && this.bos !== undefined
  }

  /** A text may contain the model's own markup only if `special`. */
  tokenize(text: string, special = false): Token[] {
    return text === '' ? [] : [...this.native.tokenize(text, special)]
  }

  /**
   * For a text that continues another one. Some vocabularies put a space before every text; it is avoided by tokenizing
   * a new line before the text and removing it again.
   */
  tokenizeContinuation(text: string, special = false): Token[] {
    if (text === '') return []
    const before = this.tokenize('\n', special)
    const tokens = this.tokenize(`\n${text}`, special)
    const isCut = before.length > 0 && before.every((token, index) => tokens[index] === token)
    return isCut ? tokens.slice(before.length) : this.tokenize(text, special)
  }

  detokenize(tokens: readonly Token[], special = false, preceding: readonly Token[] = []): string {
    if (tokens.length === 0) return ''
    const decode = (list: readonly Token[]) => this.native.detokenize(Uint32Array.from(list), special)
    const before = preceding.slice(-decodingContext)
    const known = before.length === 0 ? '' : decode(before)
    if (known === '') return decode(tokens)
    const text = decode([...before, ...tokens])
    return text.startsWith(known) ? text.slice(known.length) : decode(tokens)
  }

  /** Whether the model ends its turn, or everything, with this token. */
  isEndToken(token: Token): boolean {
    return token === this.eos || token === this.#eot || this.native.isEogToken(token)
  }

  /** Whether a token is markup rather than text. */
  isSpecialToken(token: Token): boolean {
    if ((this.native.getTokenAttributes(token) & controlAttribute) !== 0 || this.isEndToken(token)) return true
    return this.detokenize([token]) === '' && this.detokenize([token], true) !== ''
  }

  /** The tokens of `name`, one of BOS, EOS, NL, EOT and SEP, if the model has it. */
  builtInToken(name: string): Token[] {
    const native = this.native
    const known: Readonly<Record<string, () => number>> = {
      BOS: () => native.tokenBos(),
      EOS: () => native.tokenEos(),
      NL: () => native.tokenNl(),
      EOT: () => native.eotToken(),
      SEP: () => native.sepToken(),
    }
    const token = asToken(known[name]?.() ?? -1)
    return token === undefined ? [] : [token]
  }

  /** What a text begins and ends with if it is to become a vector. */
  get embeddingFrame(): { readonly first: Token | undefined; readonly last: Token | undefined } {
    switch (this.native.getVocabularyType()) {
      case vocabularies.rwkv:
        return { first: undefined, last: undefined }
      case vocabularies.wordPiece:
        return { first: this.bos, last: asToken(this.native.sepToken()) }
      case vocabularies.unigram:
        return { first: undefined, last: this.eos }
      default:
        return {
          first: this.prependsBos ? this.bos : undefined,
          last: this.native.shouldAppendEosToken() ? this.eos : undefined,
        }
    }
  }

  dispose(): Promise<void> {
    this.samplers.dispose()
    return this.native.dispose()
  }
}

/** Loads the weights, in a thread of llama.cpp. */
export async function loadNativeModel(loading: ModelLoading): Promise<NativeModel> {
  const { addon, file, gpuLayers, onProgress, signal } = loading
  signal.throwIfAborted()
  const native = new addon.AddonModel(file, {
    addonExports: addon,
    gpuLayers,
    useMmap: true,
    onLoadProgress: onProgress,
    hasLoadAbortSignal: true,
  })
  const abort = () => native.abortActiveModelLoad()
  signal.addEventListener('abort', abort, { once: true })
  try {
    const loaded = await native.init()
    signal.throwIfAborted()
    if (!loaded) throw new SluiceError('engine_start_failed', { reason: `llama.cpp cannot load ${file}.` })
    return native
  } catch (error) {
    await native.dispose()
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function asToken(token: number): Token | undefined {
  return token >= 0 ? token : undefined
}
