/** One command of the command line. `run` gets what follows its name and resolves with the exit code. */
export interface Command {
  /** `up`, or `model pull` for a command of two words. */
  readonly name: string
  readonly summary: string
  /** `MODEL_DIR`, where the command takes more than flags. */
  readonly positional?: string
  readonly flags: readonly Flag[]
  run(args: readonly string[]): Promise<number>
}

export interface Flag {
  readonly name: string
  /** `o`, for those that everybody writes as `-o`. */
  readonly short?: string
  /** What stands for the value in the help; a flag without it is a switch. */
  readonly value?: string
  readonly help: string
  readonly fallback?: string
}
