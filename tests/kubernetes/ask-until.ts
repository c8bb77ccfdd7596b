import { setTimeout as pause } from 'node:timers/promises'

const pauseMs = 50
const deadlineMs = 30_000

/**
 * Asks until the answer is what is waited for. Only for what a real server brings about a moment after it has answered,
 * because it follows its own objects as a client does, and what no watch tells of.
 */
export async function askUntil<T>(ask: () => Promise<T>, isThere: (answer: T) => boolean): Promise<T> {
  const deadline = Date.now() + deadlineMs
  for (;;) {
    const answer = await ask()
    if (isThere(answer)) return answer
    if (Date.now() > deadline) throw new Error(`gave up waiting; the last answer was ${JSON.stringify(answer)}`)
    await pause(pauseMs)
  }
}
