// Ends all that a process has started, and what those have started, also in groups of their own. It runs on whatever
// Node the machine has, so it can use nothing of src.
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const pollMs = 50

/**
 * Tells each of them to end once nobody is left who may end it in good order, also those that come meanwhile, and kills
 * what is left after `patienceMs`. Resolves when all are gone; after twice the time also without those that cannot be
 * killed.
 */
export async function endDescendants(patienceMs, ancestor = process.pid) {
  const startedAt = performance.now()
  /** By number, which may belong to another one later, that did not begin at the same time. */
  const known = new Map()
  while (true) {
    const running = runningProcesses()
    for (const [pid, { start }] of known) if (running.get(pid)?.start !== start) known.delete(pid)
    for (const pid of descendantsOf([ancestor, ...known.keys()], running))
      known.set(pid, { start: running.get(pid).start, isTold: false })
    const waitedMs = performance.now() - startedAt
    if (known.size === 0 || waitedMs > 2 * patienceMs) return
    for (const [pid, one] of known) {
      if (waitedMs > patienceMs) send(pid, 'SIGKILL')
      else if (!one.isTold && !known.has(running.get(pid).parent)) {
        one.isTold = true
        send(pid, 'SIGTERM')
      }
    }
    await sleep(pollMs)
  }
}

/** Without those that were asked for. */
function descendantsOf(pids, running) {
  const found = new Set(pids)
  // It grows while it is walked through.
  for (const one of found) for (const [pid, { parent }] of running) if (parent === one) found.add(pid)
  return [...found].slice(pids.length)
}

/** Parent and start of each process by number, without those that have ended and are only not yet asked about. */
function runningProcesses() {
  const running = new Map()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      // The program's name, in parentheses, may have any characters.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (fields[0] !== 'Z') running.set(Number(name), { parent: Number(fields[1]), start: fields[19] })
    } catch {
      // It has ended meanwhile.
    }
  }
  return running
}

function send(pid, signal) {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}
