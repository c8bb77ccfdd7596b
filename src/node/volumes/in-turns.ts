/** How many steps are made in one turn of the event loop: enough for most work, but not for thousands of files. */
const stepsPerTurn = 32

/**
 * Makes all steps synchronously, with turns for others in between. For file operations that somebody waits for: a few
 * dozen, of microseconds each, are faster this way than with a thread pool round trip for each.
 */
export async function inTurns<Result>(steps: Generator<undefined, Result>): Promise<Result> {
  for (let count = 1; ; count += 1) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (count % stepsPerTurn === 0) await new Promise((resolve) => void setImmediate(resolve))
  }
}
