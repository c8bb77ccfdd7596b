/** A command of `sluice`. `run` gets the words after its name, and resolves with the exit code. */
export interface Command {
  /** `up`, or two words such as `model pull`. */
  readonly name: string
  readonly summary: string
  /** What a person would type, in full. Several lines are several examples. */
  readonly example: string
  /** What the help shows for arguments that are not flags, such as `MODEL_DIR`. */
  readonly positional?: string
  /** What the arguments can be, for the completion of shells. */
  readonly completes?: ArgumentKind
  readonly flags: readonly Flag[]
  /** For programs only: it works, but nobody needs to read about it. */
  readonly hidden?: boolean
  run(args: readonly string[]): Promise<number>
}

/** What a shell can offer for an argument. */
export type ArgumentKind = 'model' | 'model or pod' | 'known model' | 'file' | readonly string[]

export interface Flag {
  readonly name: string
  /** The short form, such as `o` for `-o`. */
  readonly short?: string
  /** What the help shows for the value. A flag without it is a switch. */
  readonly value?: string
  readonly help: string
  readonly fallback?: string
  /** The values that there are, where they are few. */
  readonly choices?: readonly string[]
}
