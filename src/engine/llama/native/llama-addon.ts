import { existsSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { SluiceError, errorMessage } from '../../../foundation/errors.ts'
import type { Logger } from '../../../foundation/log.ts'

/**
 * llama.cpp as Node sees it: the part of node-llama-cpp's native binding that the engine uses. The library's own
 * classes around it would take longer to load than the model (decision 0023). The binding promises nothing between
 * versions, so its version is pinned, and every method named here is used by a test with a real model.
 */
export interface LlamaAddon {
  readonly AddonModel: new (file: string, options: NativeModelOptions) => NativeModel
  readonly AddonContext: new (model: NativeModel, options: NativeContextOptions) => NativeContext
  readonly AddonSampler: new (model: NativeModel) => NativeSampler
  readonly AddonGrammar: new (text: string, options: { readonly addonExports: LlamaAddon }) => NativeGrammar
  readonly AddonGrammarEvaluationState: new (model: NativeModel, grammar: NativeGrammar) => NativeGrammarState
  markLoaded(): boolean
  setLogger(write: (level: number, text: string) => void): void
  setLoggerLogLevel(level: number): void
  /** Loads the library for this processor and those for cards, from the binding's own folder or from the given one. */
  loadBackends(folder?: string): void
  /** `false`: it computes on the processor. Undefined before a backend is loaded. */
  getGpuType(): 'cuda' | 'vulkan' | 'metal' | false | undefined
  ensureGpuDeviceIsSupported(): void
  getGpuVramInfo(): { readonly total: number; readonly used: number }
  getGpuDeviceInfo(): { readonly deviceNames: readonly string[] }
  init(): Promise<void>
  dispose(): Promise<void>
}

export interface NativeModelOptions {
  readonly addonExports: LlamaAddon
  readonly gpuLayers: number
  readonly useMmap: boolean
  /** Reads what the file needs without reserving memory, for an estimate. */
  readonly noAlloc?: boolean
  readonly onLoadProgress?: (fraction: number) => void
  readonly hasLoadAbortSignal?: boolean
}

export interface NativeModel {
  /** False when loading failed or was aborted. */
  init(): Promise<boolean>
  abortActiveModelLoad(): void
  dispose(): Promise<void>
  tokenize(text: string, special: boolean): Uint32Array
  detokenize(tokens: Uint32Array, special: boolean): string
  getTrainContextSize(): number
  getMemoryBreakdown(): { readonly cpuRam: number; readonly gpuVram: number }
  tokenBos(): number
  tokenEos(): number
  tokenNl(): number
  eotToken(): number
  sepToken(): number
  getTokenString(token: number): string
  getTokenAttributes(token: number): number
  isEogToken(token: number): boolean
  getVocabularyType(): number
  shouldPrependBosToken(): boolean
  shouldAppendEosToken(): boolean
}

export interface NativeContextOptions {
  /** Tokens of all sequences together. */
  readonly contextSize: number
  readonly sequences: number
  /** The most tokens of one `decodeBatch`. */
  readonly batchSize: number
  readonly threads: number
  readonly flashAttention: 'auto'
  readonly embeddings?: boolean
}

export interface NativeContext {
  init(): Promise<boolean>
  dispose(): Promise<void>
  initBatch(tokens: number): void
  /** Returns where in the batch the results of the asked tokens will be. */
  addToBatch(sequence: number, position: number, tokens: Uint32Array, asked: Uint32Array): Uint32Array
  /** How many compute from the next `decodeBatch` on. */
  setThreads(threads: number): void
  decodeBatch(): Promise<void>
  /** -1: the grammar or the sampling allows no token. */
  sampleToken(index: number, sampler: NativeSampler): Promise<number>
  /** With the probability of every token, as pairs in a flat list. */
  sampleToken(
    index: number,
    sampler: NativeSampler,
    probabilities: true,
  ): Promise<[token: number, probabilities: readonly number[] | undefined]>
  disposeSequence(sequence: number): void
  /** False if the model's memory cannot forget only a part. */
  removeTokenCellsFromSequence(sequence: number, from: number, to: number): boolean
  getSequenceKvCacheMinPosition(sequence: number): number
  getEmbedding(tokens: number): Float64Array
  getMemoryBreakdown(): { readonly cpuRam: number; readonly gpuVram: number }
  saveSequenceStateToFile(file: string, sequence: number, tokens: Uint32Array): Promise<number>
  loadSequenceStateFromFile(file: string, sequence: number, mostTokens: number): Promise<Uint32Array>
}

export interface SamplerSettings {
  readonly temperature: number
  readonly topK: number
  readonly topP: number
  readonly minP: number
  readonly seed: number
  readonly repeatPenalty?: number
  readonly repeatPenaltyMaxTokens?: number
  readonly repeatPenaltyTokens?: Uint32Array
  readonly repeatPenaltyPresencePenalty?: number
  readonly repeatPenaltyFrequencyPenalty?: number
  readonly tokenBiasKeys?: Uint32Array
  readonly tokenBiasValues?: Float32Array
  readonly grammarEvaluationState?: NativeGrammarState
}

export interface NativeSampler {
  applyConfig(settings: SamplerSettings): void
  dispose(): void
}

export interface NativeGrammar {
  isTextCompatible(text: string): boolean
}

export type NativeGrammarState = object

export interface LlamaBackendOptions {
  readonly gpu: boolean
  readonly log: Logger
  readonly signal: AbortSignal
}

/** llama.cpp, opened for cards or for the processor. */
export interface LlamaBackend {
  readonly addon: LlamaAddon
  /** Whether it computes on cards. */
  readonly gpu: boolean
  /** The file of the binding. */
  readonly binary: string
  /** To be called once a model has computed with this backend. */
  readonly confirm: () => Promise<void>
}

/** The level from which llama.cpp's messages are passed on: warnings, where 1 is fatal and 6 is for debugging. */
const warnings = 3
const errors = 2

/** The folder with the binaries of an installed package; undefined if it is not installed, or empty. */
export function binaryFolder(variant = ''): string | undefined {
  const name = `@node-llama-cpp/${process.platform}-${process.arch}${variant}`
  const manifest = manifestOf(name)
  const folder = manifest === undefined ? undefined : join(dirname(manifest), 'bins')
  return folder !== undefined && existsSync(folder) ? folder : undefined
}

function manifestOf(name: string): string | undefined {
  try {
    return findPackageJSON(name, import.meta.url)
  } catch {
    return undefined
  }
}

/** Loads a binding from its file, for the processor or for cards. */
export function openAddon(file: string, forCards: boolean, log: Logger | undefined): LlamaAddon {
  const holder: { exports: object } = { exports: {} }
  try {
    process.dlopen(holder, file)
  } catch (error) {
    const reason = `llama.cpp's library cannot be loaded: ${errorMessage(error)}`
    throw new SluiceError('engine_start_failed', { reason }, { cause: error })
  }
  const addon = requireAddon(holder.exports)
  addon.markLoaded()
  if (log) {
    addon.setLogger((level, text) => log[level <= errors ? 'error' : 'debug']({ from: 'llama.cpp' }, text.trim()))
    addon.setLoggerLogLevel(warnings)
  }
  for (const folder of [undefined, dirname(file)]) {
    addon.loadBackends(folder)
    const gpu = addon.getGpuType()
    if (gpu !== undefined && (gpu !== false || !forCards)) break
  }
  addon.ensureGpuDeviceIsSupported()
  return addon
}

function requireAddon(exports: object): LlamaAddon {
  if (!isAddon(exports)) throw new SluiceError('internal_error')
  return exports
}

function isAddon(exports: object): exports is LlamaAddon {
  return 'AddonModel' in exports && 'AddonContext' in exports && 'loadBackends' in exports
}
