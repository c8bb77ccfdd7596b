import type { Dice } from './dice.ts'

/** What a container does, and what its Pod must look like as a result. */
export interface ContainerProgram {
  readonly name: string
  readonly command: readonly string[]
  /** Whether it runs until it is stopped, or the code with which it ends by itself. */
  readonly ends: 'never' | number
  /** The port that it listens on, on all addresses. Of several Pods with the same port only one can listen. */
  readonly listensOn?: number | undefined
}

const shell = (script: string) => ['/bin/sh', '-c', script]

/**
 * The ways in which real programs keep running: with `exec` or not, with one child or several, ending in time or only
 * by force.
 */
const staying: ReadonlyArray<readonly [string, string]> = [
  ['sleeps', 'exec sleep 100000'],
  ['waits for a child', 'sleep 100000'],
  ['ignores SIGTERM', "trap '' TERM; while :; do sleep 1; done"],
  ['forks into another session', 'setsid sleep 100000 & sleep 100000 & wait'],
  [
    'prints and stays',
    'head -c 3000000 /dev/zero | tr "\\0" x; yes a line of some words | head -c 2000000; exec sleep 100000',
  ],
  ['goes on printing', 'while :; do echo tick; echo tock >&2; sleep 0.2; done'],
]

const ending: ReadonlyArray<readonly [string, string, number]> = [
  ['succeeds at once', 'exit 0', 0],
  ['fails at once', 'exit 3', 3],
  ['succeeds after a while', 'sleep 0.3; exit 0', 0],
  ['fails after a while', 'sleep 0.3; exit 7', 7],
  ['prints and fails', 'yes no | head -c 200000; exit 1', 1],
  ['leaves a child behind', 'sleep 100000 & exit 0', 0],
  // Kubernetes replaces two dollar signs by one.
  ['kills itself', 'kill -9 $$$$', 137],
  ['has a long last word', 'yes why | head -c 100000 > /dev/termination-log; exit 5', 5],
]

export const listeningPorts: readonly number[] = [20_380, 20_381]

/** A program that listens. It is a Node process and therefore large, so there are few of them. */
function listener(port: number): ContainerProgram {
  const script = `require('node:net').createServer((s) => s.end('hello')).listen(${port}, '0.0.0.0')`
  return { name: `listens on ${port}`, command: [process.execPath, '-e', script], ends: 'never', listensOn: port }
}

/** `more` makes another program of the same one, as an update of a template does. */
export function stayingProgram(dice: Dice, more = ''): ContainerProgram {
  const [name, script] = dice.pick(staying) ?? ['sleeps', 'exec sleep 100000']
  return { name, command: shell(`: ${more}; ${script}`), ends: 'never' }
}

export function endingProgram(dice: Dice): ContainerProgram {
  const [name, script, ends] = dice.pick(ending) ?? ['succeeds at once', 'exit 0', 0]
  return { name, command: shell(script), ends }
}

export function anyProgram(dice: Dice, more = ''): ContainerProgram {
  const roll = dice.roll()
  if (roll < 0.06) return listener(dice.pick(listeningPorts) ?? 20_380)
  if (roll < 0.1) return { name: 'is not there', command: ['/no/such/program'], ends: 128 }
  return roll < 0.45 ? endingProgram(dice) : stayingProgram(dice, more)
}
