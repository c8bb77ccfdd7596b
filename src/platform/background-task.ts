import type { Component } from '../foundation/lifecycle.ts'

/** Makes a component of something that runs until it is told to stop. */
export function backgroundTask(name: string, run: (signal: AbortSignal) => Promise<void>): Component {
  const stop = new AbortController()
  let running: Promise<void> | undefined
  return {
    name,
    start() {
      running = run(stop.signal)
      // `stop` awaits the end. Until then, a failure must not end the process as an unhandled rejection.
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
