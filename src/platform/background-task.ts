import type { Component } from '../foundation/lifecycle.ts'

/** A component out of something that runs until it is told to stop. */
export function backgroundTask(name: string, run: (signal: AbortSignal) => Promise<void>): Component {
  const stop = new AbortController()
  let running: Promise<void> | undefined
  return {
    name,
    start() {
      running = run(stop.signal)
      // Its end is awaited in stop(); a failure before that must not take the process down unheard.
      running.catch(() => {})
    },
    async stop() {
      stop.abort(new Error(`${name} stops`))
      await running?.catch((error: unknown) => {
        if (!stop.signal.aborted) throw error
      })
    },
  }
}
