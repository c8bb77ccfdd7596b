/** A command of `sluice`. `run` gets the words after its name, and resolves with the exit code. */
export interface Command {
  /** `up`, or two words such as `model pull`. */
  readonly name: string
  readonly summary: string
  /** What the help shows for arguments that are not flags, such as `MODEL_DIR`. */
  readonly positional?: string
  readonly flags: readonly Flag[]
  run(args: readonly string[]): Promise<number>
}

export interface Flag {
  readonly name: string
  /** The short form, such as `o` for `-o`. */
  readonly short?: string
  /** What the help shows for the value. A flag without it is a switch. */
  readonly value?: string
  readonly help: string
  readonly fallback?: string
}
