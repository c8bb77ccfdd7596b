import { execFile } from 'node:child_process'
import { closeSync, constants, openSync, rmSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { type EntryStep, entryMessage } from '../isolation/entry-steps.ts'
import type { ContainerParts } from '../pods/pod-parts.ts'
import type { ContainerRecord } from '../pods/pod-records.ts'
import { ContainerRefused } from '../pod-runtime.ts'

/** By which FIFOs a container's own program is given what it reads, and told of its terminal. */
export interface ContainerInput {
  readonly stdin?: { readonly path: string; readonly ends: boolean } | undefined
  readonly control?: string | undefined
  readonly terminal: boolean
  /** What is open here for as long as the container is being started, and for as long as its input must not end. */
  readonly opened: readonly number[]
  readonly held?: number | undefined
}

type Wishes = Pick<ContainerParts, 'stdin' | 'stdinOnce' | 'tty'>

/**
 * Makes them, anew for each start. In namespaces a process of the container's own keeps its input from ending: it goes
 * on without this program. Elsewhere this program does.
 */
export async function makeInput(folder: string, wishes: Wishes, isolated: boolean): Promise<ContainerInput> {
  const { stdin, stdinOnce, tty } = wishes
  if (tty && !isolated) {
    throw new ContainerRefused('CreateContainerConfigError', 'tty needs namespaces, which this node does not have')
  }
  const [path, control] = [join(folder, 'stdin'), join(folder, 'control')]
  // A terminal has no end: whoever types at it says when there is nothing more.
  const ends = stdin && stdinOnce && !tty
  const isTold = isolated && (tty || ends)
  const made = [...(stdin ? [path] : []), ...(isTold ? [control] : [])]
  for (const fifo of [path, control]) rmSync(fifo, { force: true })
  if (made.length > 0) await promisify(execFile)('mkfifo', ['-m', '600', ...made])
  return {
    stdin: stdin ? { path, ends } : undefined,
    control: isTold ? control : undefined,
    terminal: tty,
    ...(stdin && !isolated ? openStdin(path, ends) : { opened: [] }),
  }
}

/** A FIFO's two sides: the program's, and (where its end is to be seen) one that keeps it from ending too early. */
function openStdin(path: string, ends: boolean): Pick<ContainerInput, 'opened' | 'held'> {
  // Opened for both directions, it neither blocks here nor ever ends for the program.
  const both = openSync(path, constants.O_RDWR)
  if (!ends) return { opened: [both] }
  const descriptor = openSync(path, constants.O_RDONLY)
  const held = openSync(path, constants.O_WRONLY)
  closeSync(both)
  return { opened: [descriptor], held }
}

/** Where to write what the container's own program is to read; `undefined` when it reads nothing. */
export function openInput({ stdinFile }: ContainerRecord): Writable | undefined {
  if (stdinFile === '') return undefined
  const descriptor = openSync(stdinFile, constants.O_WRONLY | constants.O_NONBLOCK)
  return new Socket({ fd: descriptor, readable: false, writable: true })
}

/** Never waits: what is told while nobody listens, or faster than anybody does, is lost. */
export function tellContainer({ controlFile }: ContainerRecord, step: EntryStep): void {
  if (controlFile === '') return
  let control: number | undefined
  try {
    control = openSync(controlFile, constants.O_WRONLY | constants.O_NONBLOCK)
    // Short enough to come whole or not at all.
    writeSync(control, entryMessage([step]))
  } catch {
    // It has ended.
  } finally {
    if (control !== undefined) closeSync(control)
  }
}

export function closeAll(descriptors: readonly (number | undefined)[]): void {
  for (const descriptor of descriptors) {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
