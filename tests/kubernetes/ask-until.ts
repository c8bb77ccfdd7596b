import { setTimeout as pause } from 'node:timers/promises'

const pauseMs = 50
const deadlineMs = 30_000

/**
 * Asks until the answer is the one that is waited for. Only for what a real server does a moment after it has answered,
 * because it watches its own objects like a client, and what cannot be watched from outside.
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
