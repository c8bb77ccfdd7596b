import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { endDescendants } from '../scripts/end-descendants.mjs'
import { killIfThere, processesMentioning } from './support/sluice-process.ts'

const stays = 'console.log("here"); setInterval(() => {}, 1000);'
const staysThoughTold = `process.on("SIGTERM", () => {}); ${stays}`

/** A program that starts another in a group of its own, and stays. Both have the first argument. */
function starting(code: string): string {
  const words = `["-e", ${JSON.stringify(code)}, process.argv[1]]`
  const options = '{ detached: true, stdio: ["ignore", "inherit", "ignore"] }'
  return `require("node:child_process").spawn(process.execPath, ${words}, ${options}); ${stays}`
}

it.runIf(process.platform === 'linux')(
  'ends what a process has started, in whatever group, and leaves the process',
  async () => {
    const mark = randomUUID()
    const program = starting(stays) + starting(starting(staysThoughTold))
    const first = spawn(process.execPath, ['-e', program, mark], { stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      let here = 0
      // Two of them are said by the program itself, which is two in one.
      for await (const _line of createInterface({ input: first.stdout })) if (++here === 5) break
      expect(processesMentioning(mark)).toHaveLength(4)
      await endDescendants(500, first.pid)
      expect(processesMentioning(mark)).toEqual([first.pid])
    } finally {
      for (const pid of processesMentioning(mark)) killIfThere(pid)
      await once(first, 'exit')
    }
  },
)
