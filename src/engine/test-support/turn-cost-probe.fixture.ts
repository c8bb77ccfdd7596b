// Loaded into an engine by a test (`--import`): measures what its loop does between two looks at it, in processor time
// of its thread. Another program that has the processor meanwhile makes a turn long, but not costly.
const everyMs = 5

let costliestMs = 0
let last = usedMs()

setInterval(() => {
  const now = usedMs()
  costliestMs = Math.max(costliestMs, now - last)
  last = now
}, everyMs).unref()

/** Asked over the channel to its parent: the costliest since it was last asked. */
process.on('message', () => {
  process.send?.({ costliestMs })
  costliestMs = 0
})

function usedMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
