import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SluiceError, errorMessage } from '../../../foundation/errors.ts'
import type { Logger } from '../../../foundation/log.ts'
import { fitSequenceFile } from '../memory/sequence-file.ts'
import { type ContextShape, contextTokens, grownShape, hasRoom, shapeFor } from './context-shape.ts'
import type { NativeContext } from './llama-addon.ts'
import type { LoadedModel, Token } from './loaded-model.ts'
import type { Sequence } from './sequence.ts'

export interface GrowingContextOptions {
  readonly model: LoadedModel
  readonly threads: number
  readonly batchSize: number
  readonly first: ContextShape
  /** How large it may become. */
  readonly most: ContextShape
  readonly log: Logger
}

/** What a sequence is to compute. */
interface Placed {
  readonly sequence: Sequence
  readonly tokens: { readonly length: number }
}

/** What was computed of a sequence, in a file while its context is replaced. */
interface Saved {
  readonly sequence: Sequence
  /** Undefined if there is nothing to save, or no place for it. */
  readonly file: SequenceFile | undefined
}

interface SequenceFile {
  readonly path: string
  /** How many there were in the context that it was written from. */
  readonly sequences: number
}

/**
 * The memory of all conversations. llama.cpp reserves a context wholly when it is made, so it begins small, is replaced
 * by a larger one when more conversations or longer ones need it, and by a small one when nobody has asked for a while.
 * What was computed moves along.
 */
export class GrowingContext {
  readonly #options: GrowingContextOptions
  #native: NativeContext
  #shape: ContextShape
  readonly #sequences = new Set<Sequence>()

  private constructor(options: GrowingContextOptions, native: NativeContext) {
    this.#options = options
    this.#native = native
    this.#shape = options.first
  }

  static async open(options: GrowingContextOptions): Promise<GrowingContext> {
    return new GrowingContext(options, await createContext(options, options.first))
  }

  get native(): NativeContext {
    return this.#native
  }

  get shape(): ContextShape {
    return this.#shape
  }

  /**
   * Finds a place for what is to be computed, as far as memory allows: afterwards `holds` says for whom there is one.
   */
  async makeRoom(works: readonly Placed[]): Promise<void> {
    for (const { sequence } of works) this.#sequences.add(sequence)
    const needed = {
      sequences: this.#sequences.size,
      length: Math.max(...works.map(({ sequence, tokens }) => sequence.tokens.length + tokens.length)),
    }
    const shape = grownShape(this.#shape, needed, this.#options.most)
    if (!hasRoom(this.#shape, shape)) await this.#become(shape, [...this.#sequences])
    for (const sequence of this.#sequences) this.#number(sequence)
  }

  holds({ sequence, tokens }: Placed): boolean {
    return sequence.id !== undefined && sequence.tokens.length + tokens.length <= this.#shape.length
  }

  forget(sequence: Sequence): void {
    sequence.clear(this.#native)
    sequence.lost()
    this.#sequences.delete(sequence)
  }

  /** Keeps one conversation, the last one, in a context no larger than it needs. */
  async shrink(): Promise<void> {
    const [last, ...others] = [...this.#sequences].sort((a, b) => b.usedAt - a.usedAt)
    const shape = shapeFor(last?.tokens.length ?? 0, this.#options.most)
    if (hasRoom(shape, this.#shape)) return
    for (const sequence of others) {
      sequence.lost()
      this.#sequences.delete(sequence)
    }
    await this.#become(shape, last ? [last] : [])
  }

  /**
   * Begins a sequence with what another process wrote of it. False if the file has something else, or the context is
   * another one than it was written for.
   */
  async recall(sequence: Sequence, tokens: readonly Token[], file: string): Promise<boolean> {
    this.#sequences.add(sequence)
    this.#number(sequence)
    if (sequence.id === undefined || sequence.tokens.length > 0) return false
    return this.#load(sequence, sequence.id, tokens, file)
  }

  /** Writes what was computed of a sequence, for `recall`. */
  async write(sequence: Sequence, file: string): Promise<void> {
    if (sequence.id === undefined) return
    await this.#native.saveSequenceStateToFile(file, sequence.id, Uint32Array.from(sequence.tokens))
  }

  dispose(): Promise<void> {
    return this.#native.dispose()
  }

  #number(sequence: Sequence): void {
    if (sequence.id !== undefined) return
    const taken = new Set([...this.#sequences].map(({ id }) => id))
    sequence.id = Array.from({ length: this.#shape.sequences }, (_, id) => id).find((id) => !taken.has(id))
  }

  async #become(shape: ContextShape, kept: readonly Sequence[]): Promise<void> {
    const { log } = this.#options
    const saved: Saved[] = []
    // What is said in conversations is nobody else's, so it is a folder that only this user can look into.
    const folder = await mkdtemp(join(tmpdir(), 'sluice-sequences-')).catch(() => undefined)
    // One after the other: nothing says that a context may be read by several threads.
    for (const sequence of kept) saved.push(await this.#save(sequence, folder))
    try {
      // The old one goes first: both at once may be more memory than there is.
      await this.#native.dispose()
      try {
        this.#native = await createContext(this.#options, shape)
        this.#shape = shape
        log.debug({ ...shape }, 'the context has another size')
      } catch (error) {
        log.warn({ ...shape, reason: errorMessage(error) }, 'a larger context cannot be made')
        this.#native = await createContext(this.#options, this.#shape)
      }
      const placed = saved.slice(0, this.#shape.sequences)
      for (const { sequence } of saved.slice(placed.length)) sequence.lost()
      for (const [id, { sequence, file }] of placed.entries()) await this.#restore(sequence, id, file)
    } finally {
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    }
  }

  async #save(sequence: Sequence, folder: string | undefined): Promise<Saved> {
    const { id, tokens } = sequence
    if (id === undefined || tokens.length === 0 || folder === undefined) return { sequence, file: undefined }
    const path = join(folder, String(id))
    try {
      await this.#native.saveSequenceStateToFile(path, id, Uint32Array.from(tokens))
      return { sequence, file: { path, sequences: this.#shape.sequences } }
    } catch (error) {
      this.#options.log.debug({ reason: errorMessage(error) }, 'a conversation cannot be moved')
      return { sequence, file: undefined }
    }
  }

  /** What cannot be read back is computed again: whoever generates goes on as if nothing had happened. */
  async #restore(sequence: Sequence, id: number, file: SequenceFile | undefined): Promise<void> {
    const tokens = [...sequence.tokens]
    sequence.lost()
    sequence.id = id
    if (tokens.length === 0 || (file !== undefined && (await this.#reload(sequence, id, tokens, file)))) return
    await this.#computeAgain(sequence, id, tokens)
  }

  /** Of formats that are not understood, llama.cpp may still read what it wrote for another number of sequences. */
  async #reload(sequence: Sequence, id: number, tokens: readonly Token[], file: SequenceFile): Promise<boolean> {
    const { sequences } = this.#shape
    try {
      if (file.sequences !== sequences) await fitSequenceFile(file.path, sequences)
    } catch (error) {
      this.#options.log.debug({ reason: errorMessage(error) }, 'a conversation cannot be moved')
      return false
    }
    return this.#load(sequence, id, tokens, file.path)
  }

  async #load(sequence: Sequence, id: number, tokens: readonly Token[], file: string): Promise<boolean> {
    try {
      const loaded = await this.#native.loadSequenceStateFromFile(file, id, this.#shape.length)
      if (loaded.length === tokens.length && loaded.every((token, index) => token === tokens[index])) {
        sequence.computed(tokens)
        return true
      }
    } catch (error) {
      this.#options.log.debug({ reason: errorMessage(error) }, 'a conversation is computed again')
    }
    this.#native.disposeSequence(id)
    return false
  }

  async #computeAgain(sequence: Sequence, id: number, tokens: readonly Token[]): Promise<void> {
    const { batchSize } = this.#options
    for (let at = 0; at < tokens.length; at += batchSize) {
      const part = tokens.slice(at, at + batchSize)
      this.#native.initBatch(part.length)
      this.#native.addToBatch(id, at, Uint32Array.from(part), new Uint32Array())
      await this.#native.decodeBatch()
      sequence.computed(part)
    }
  }
}

async function createContext(options: GrowingContextOptions, shape: ContextShape): Promise<NativeContext> {
  const { model, threads, batchSize } = options
  const native = new model.addon.AddonContext(model.native, {
    contextSize: contextTokens(shape),
    sequences: shape.sequences,
    batchSize,
    threads,
    flashAttention: 'auto',
  })
  if (await native.init()) return native
  await native.dispose()
  throw new SluiceError('engine_start_failed', { reason: 'there is not enough memory for a context of the model.' })
}
