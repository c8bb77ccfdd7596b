// A test loads this into an engine (`--import`). It measures how much processor time the thread spends between two
// timer ticks. If another program has the processor meanwhile, a turn gets longer but not costlier.
const everyMs = 5

let costliestMs = 0
let last = usedMs()

setInterval(() => {
  const now = usedMs()
  costliestMs = Math.max(costliestMs, now - last)
  last = now
}, everyMs).unref()

/** Answers the parent with the costliest turn since it last asked. */
process.on('message', () => {
  process.send?.({ costliestMs })
  costliestMs = 0
})

function usedMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
