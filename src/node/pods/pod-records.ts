import { mkdirSync } from 'node:fs'
import { readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { ContainerExit, EndedContainer, PodIdentity } from '../pod-runtime.ts'

const exitSchema = z.object({
  exitCode: z.int(),
  signal: z.int().exactOptional(),
  reason: z.enum(['Completed', 'Error', 'OOMKilled', 'StartError', 'ContainerStatusUnknown']),
  message: z.string().exactOptional(),
  finishedAt: z.number(),
})

const containerRecordSchema = z.object({
  pid: z.int().positive(),
  startTime: z.string(),
  attempt: z.int(),
  startedAt: z.number(),
  cards: z.array(z.int()),
  /** Whether it has its own namespaces. */
  isolated: z.boolean().default(false),
  /** Whether it shares the PID namespace of another container of its Pod. */
  sharesProcesses: z.boolean().default(false),
  /** Its network namespace file; empty for the machine's network. */
  network: z.string().default(''),
  workingDir: z.string().default('/'),
  cgroups: z.array(z.string()).default([]),
  /** Without namespaces: the mount paths to replace for programs that are run in it. */
  mounts: z
    .array(z.object({ mountPath: z.string(), folder: z.string(), root: z.string(), readOnly: z.boolean() }))
    .default([]),
  messageFile: z.string().default(''),
  messageFromLog: z.boolean().default(false),
  exitFile: z.string().default(''),
  stdinFile: z.string().default(''),
  /** The FIFO by which it is told its terminal's size and the end of its input. */
  controlFile: z.string().default(''),
  /** Its variables, also for programs that are run in it. Missing in records of older versions. */
  env: z.record(z.string(), z.string()).optional(),
  /** Its user and rights, also for programs that are run in it. Missing if it runs with this program's own. */
  rights: z
    .object({
      uid: z.int(),
      gid: z.int(),
      groups: z.array(z.int()).readonly(),
      capabilities: z.array(z.string()).readonly(),
      noNewPrivileges: z.boolean(),
      filterCalls: z.boolean(),
    })
    .optional(),
  /** The image whose files it uses (`sha256:…`); empty if it uses none that could be removed. */
  imageId: z.string().default(''),
  /** How it ended, until that is settled. */
  exit: exitSchema.optional(),
  /** The previous start, if its end was not settled yet. */
  before: z.object({ attempt: z.int(), startedAt: z.number(), exit: exitSchema }).optional(),
})

const podRecordSchema = z.object({
  uid: z.string(),
  namespace: z.string(),
  name: z.string(),
  podIP: z.string(),
  bootId: z.string(),
  containers: z.record(z.string(), containerRecordSchema),
})

export type ContainerRecord = z.infer<typeof containerRecordSchema>
export type PodRecord = z.infer<typeof podRecordSchema>

/** How many files are read at a time. */
const filesAtOnce = 64

/**
 * A record on disk of every container that runs, or that has ended without the cluster knowing it yet:
 * `<folder>/<uid>.json`. Written before a program runs, so that the next run of this program finds it. Needs no fsync,
 * since a crash of the machine ends the processes, too. All file operations are asynchronous, so that nobody waits for
 * the disk.
 */
export class PodRecords {
  readonly #folder: string
  readonly #records = new Map<string, PodRecord>()
  /** The write in progress of each Pod's file. */
  readonly #writes = new Map<string, Promise<void>>()

  constructor(folder: string) {
    this.#folder = folder
    mkdirSync(folder, { recursive: true })
  }

  /** Records a start, in place of what was known about the container. Resolves when it is written. */
  start(pod: Omit<PodRecord, 'containers'>, container: string, started: ContainerRecord): Promise<void> {
    const { containers = {} } = this.#records.get(pod.uid) ?? {}
    const { attempt = 0, startedAt = 0, exit } = containers[container] ?? {}
    const known = exit ? { ...started, before: { attempt, startedAt, exit } } : started
    return this.#put({ ...pod, containers: { ...containers, [container]: known } })
  }

  end(uid: string, container: string, exit: ContainerExit): Promise<void> {
    const record = this.#records.get(uid)
    const ended = record?.containers[container]
    if (!record || !ended) return Promise.resolve()
    // No more programs are run in it, so its variables, which may be secret, are dropped.
    const { env: _env, ...rest } = ended
    return this.#put({ ...record, containers: { ...record.containers, [container]: { ...rest, exit } } })
  }

  /** Forgets a start that did not happen; what was known about the previous start stays. */
  drop(uid: string, container: string): Promise<void> {
    const record = this.#records.get(uid)
    const dropped = record?.containers[container]
    // An ended container is the previous start; the failed one was never recorded.
    if (!record || !dropped || dropped.exit) return Promise.resolve()
    const { before, ...rest } = dropped
    if (!before) return this.#without(uid, (name) => name === container)
    return this.#put({ ...record, containers: { ...record.containers, [container]: { ...rest, ...before } } })
  }

  /** Forgets ended containers whose end the cluster knows. */
  settle(uid: string, isNoted: (container: string) => boolean): Promise<void> {
    return this.#without(uid, (name, { exit }) => exit !== undefined && isNoted(name))
  }

  /** The ended containers that are not settled. */
  unsettled(uid: string): EndedContainer[] {
    const { containers = {} } = this.#records.get(uid) ?? {}
    return Object.entries(containers).flatMap(([container, { attempt, startedAt, exit }]) =>
      exit ? [{ container, attempt, startedAt, exit }] : [],
    )
  }

  remove(uid: string): Promise<void> {
    this.#records.delete(uid)
    return this.#save(uid)
  }

  async retain(isKnown: (uid: string) => boolean): Promise<void> {
    const unknown = [...this.#records.keys()].filter((uid) => !isKnown(uid))
    await Promise.all(unknown.map((uid) => this.remove(uid)))
  }

  /**
   * Reads the records of an earlier run. Unreadable ones are skipped: their processes are still found by their marks.
   */
  async load(): Promise<PodRecord[]> {
    const files = await readdir(this.#folder)
    await this.#removeHalfWritten(files)
    const names = files.filter((name) => name.endsWith('.json'))
    const loaded: PodRecord[] = []
    for (let begin = 0; begin < names.length; begin += filesAtOnce) {
      const read = await Promise.all(names.slice(begin, begin + filesAtOnce).map((name) => this.#read(name)))
      for (const record of read) {
        if (!record || this.#records.has(record.uid)) continue
        this.#records.set(record.uid, record)
        loaded.push(record)
      }
    }
    return loaded
  }

  /** Removes files that a killed run left half written: they may hold secret variables. */
  async #removeHalfWritten(files: readonly string[]): Promise<void> {
    for (const name of files) {
      const [, uid] = /^(.*)\.json\.new$/.exec(name) ?? []
      if (uid !== undefined && !this.#writes.has(uid)) await rm(join(this.#folder, name), { force: true })
    }
  }

  async #read(name: string): Promise<PodRecord | undefined> {
    try {
      return podRecordSchema.parse(JSON.parse(await readFile(join(this.#folder, name), 'utf8')))
    } catch {
      return undefined
    }
  }

  async #without(uid: string, goes: (container: string, record: ContainerRecord) => boolean): Promise<void> {
    const record = this.#records.get(uid)
    if (!record) return
    const entries = Object.entries(record.containers)
    const left = entries.filter(([name, container]) => !goes(name, container))
    if (left.length === 0) await this.remove(uid)
    else if (left.length < entries.length) await this.#put({ ...record, containers: Object.fromEntries(left) })
  }

  #put(record: PodRecord): Promise<void> {
    this.#records.set(record.uid, record)
    return this.#save(record.uid)
  }

  /** Writes of one Pod's file follow each other, each with the state at that moment. */
  #save(uid: string): Promise<void> {
    const before = this.#writes.get(uid) ?? Promise.resolve()
    const saving = before
      .catch(() => {})
      .then(() => this.#write(uid))
      .finally(() => {
        if (this.#writes.get(uid) === saving) this.#writes.delete(uid)
      })
    this.#writes.set(uid, saving)
    return saving
  }

  async #write(uid: string): Promise<void> {
    const path = join(this.#folder, `${uid}.json`)
    const record = this.#records.get(uid)
    if (!record) return rm(path, { force: true })
    // Only for this user, since variables may be secret.
    await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 })
    await rename(`${path}.new`, path)
  }
}

/** What identifies a Pod and the boot of the machine its processes belong to. */
export function recordOf({ uid, namespace, name }: PodIdentity, podIP: string, bootId: string) {
  return { uid, namespace, name, podIP, bootId }
}
