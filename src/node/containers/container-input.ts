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

/** The FIFOs by which a container's program gets its input and is told about its terminal. */
export interface ContainerInput {
  readonly stdin?: { readonly path: string; readonly ends: boolean } | undefined
  readonly control?: string | undefined
  readonly terminal: boolean
  /** Descriptors to close once the container is started (`opened`) or when its input may end (`held`). */
  readonly opened: readonly number[]
  readonly held?: number | undefined
}

type Wishes = Pick<ContainerParts, 'stdin' | 'stdinOnce' | 'tty'>

/**
 * Makes new FIFOs for one start of a container. Something must keep the writing side open, or the input would end at
 * once: with namespaces, a process of the container does (so it survives this program); without, this program does.
 */
export async function makeInput(folder: string, wishes: Wishes, isolated: boolean): Promise<ContainerInput> {
  const { stdin, stdinOnce, tty } = wishes
  if (tty && !isolated) {
    throw new ContainerRefused('CreateContainerConfigError', 'tty needs namespaces, which this node does not have')
  }
  const [path, control] = [join(folder, 'stdin'), join(folder, 'control')]
  // A terminal has no end of input: the person typing sends it.
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

/**
 * Opens a FIFO for the program and, if the program is to see the end of its input, a writing side that is held until
 * then.
 */
function openStdin(path: string, ends: boolean): Pick<ContainerInput, 'opened' | 'held'> {
  // Opened for both directions, so that opening does not block and the program never sees an end.
  const both = openSync(path, constants.O_RDWR)
  if (!ends) return { opened: [both] }
  const descriptor = openSync(path, constants.O_RDONLY)
  const held = openSync(path, constants.O_WRONLY)
  closeSync(both)
  return { opened: [descriptor], held }
}

/** Opens the standard input of the container's program; `undefined` when it reads none. */
export function openInput({ stdinFile }: ContainerRecord): Writable | undefined {
  if (stdinFile === '') return undefined
  const descriptor = openSync(stdinFile, constants.O_WRONLY | constants.O_NONBLOCK)
  return new Socket({ fd: descriptor, readable: false, writable: true })
}

/** Sends a control message to the container. Never blocks: if nobody reads, the message is lost. */
export function tellContainer({ controlFile }: ContainerRecord, step: EntryStep): void {
  if (controlFile === '') return
  let control: number | undefined
  try {
    control = openSync(controlFile, constants.O_WRONLY | constants.O_NONBLOCK)
    // Below PIPE_BUF, so it is written whole or not at all.
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
