// Lives of Pods (programs that end or do not end, servers with Services, ports of the machine and policies), with
// SIGKILL of Sluice at any moment. Every server must answer in every possible way, and nothing may be left of a Pod
// that is gone: no process, network namespace, virtual cable, rule, mount, control group or file. This is checked after
// every hundred Pods, and when Sluice has ended.
//   node bench/pod-lives.ts [--lives 1000] [--seed 1] [--at-once 8]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { killIfThere, podProcesses, processesMentioning } from '../tests/support/sluice-process.ts'
import { Dice } from '../tests/support/fuzz/dice.ts'
import { leftOfPods, leftOfSluice } from './pod-lives/leftovers.ts'
import { PodLife } from './pod-lives/pod-life.ts'
import { RestlessSluice } from './pod-lives/restless-sluice.ts'

const { values } = parseArgs({
  options: {
    lives: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    'at-once': { type: 'string', default: '8' },
  },
})
const [lives, seed, atOnce] = [Number(values.lives), Number(values.seed), Number(values['at-once'])]
const between = 100
const settleMs = 60_000
const ends = Array.from({ length: Math.ceil(lives / between) }, (_, index) => Math.min(lives, (index + 1) * between))

const data = mkdtempSync(join(tmpdir(), 'sluice-lives-'))
const sluice = new RestlessSluice(data)
const dice = new Dice(seed)
const uids = new Set<string>()
const problems: string[] = []
const progress = { next: 0 }
const ended = new AbortController()
const begun = Date.now()

async function killNowAndThen(): Promise<void> {
  while (!ended.signal.aborted) {
    await sleep(dice.between(300, 15_000))
    if (!ended.signal.aborted) await sluice.kill()
  }
}

async function liveUpTo(end: number): Promise<void> {
  while (progress.next < end && problems.length === 0) {
    const number = progress.next
    progress.next += 1
    const life = new PodLife(sluice, number, seed, uids)
    await life.run().catch((error: unknown) => problems.push(String(error)))
  }
}

async function nothingLeft(look: () => readonly string[]): Promise<void> {
  const giveUpAt = Date.now() + settleMs
  for (;;) {
    const left = look()
    if (left.length === 0) return
    if (Date.now() > giveUpAt) return void problems.push(...left.map((one) => `left: ${one}`))
    await sleep(500)
  }
}

try {
  await sluice.start()
  const killing = killNowAndThen()
  for (const end of ends) {
    if (problems.length > 0) break
    await Promise.all(Array.from({ length: atOnce }, () => liveUpTo(end)))
    await nothingLeft(() => leftOfPods(data, uids))
    const seconds = Math.round((Date.now() - begun) / 1000)
    console.log(`${seconds} s: ${progress.next} lives, ${sluice.kills} kills, ${problems.length} problems`)
  }
  ended.abort()
  await killing
  if (problems.length === 0) {
    await sluice.stop()
    await nothingLeft(() => leftOfSluice(data, uids))
  }
  console.log(problems.length === 0 ? 'nothing is left' : problems.join('\n'))
  if (problems.length > 0) console.log(readFileSync(join(data, 'logs/sluice.log'), 'utf8').slice(-8_000), sluice.output)
  process.exitCode = problems.length === 0 ? 0 : 1
} finally {
  ended.abort()
  sluice.destroy()
  for (const pid of new Set([...processesMentioning(data), ...podProcesses(data)])) killIfThere(pid)
  rmSync(data, { recursive: true, force: true })
}
