/** How many steps are made before others have their turn: what is usual is done in one, thousands of files are not. */
const stepsPerTurn = 32

/**
 * Makes all the steps, a few at once. For work on files that somebody waits for: a few dozen steps of microseconds,
 * each of which waited for a thread and its turn on a busy machine, would take longer than all of them do here.
 */
export async function inTurns<Result>(steps: Generator<undefined, Result>): Promise<Result> {
  for (let count = 1; ; count += 1) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (count % stepsPerTurn === 0) await new Promise((resolve) => void setImmediate(resolve))
  }
}
