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
  /** In namespaces of its own. */
  isolated: z.boolean().default(false),
  /** Among the processes of another container of its Pod. */
  sharesProcesses: z.boolean().default(false),
  /** The file of the network namespace it is in; empty where that is the machine's. */
  network: z.string().default(''),
  workingDir: z.string().default('/'),
  cgroups: z.array(z.string()).default([]),
  /** Where paths are replaced: what a program that is run beside it needs to be told, too. */
  mounts: z
    .array(z.object({ mountPath: z.string(), folder: z.string(), root: z.string(), readOnly: z.boolean() }))
    .default([]),
  messageFile: z.string().default(''),
  messageFromLog: z.boolean().default(false),
  exitFile: z.string().default(''),
  stdinFile: z.string().default(''),
  /** By which it is told the size of its terminal, and the end of its input. */
  controlFile: z.string().default(''),
  /** What a program that is run beside it gets, too. Not there in records of older versions. */
  env: z.record(z.string(), z.string()).optional(),
  /** As whom and with which rights it runs, and what is run beside it. Not there where nothing was taken from it. */
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
  /** The image whose files it uses (`sha256:…`); empty where it has none that could be removed. */
  imageId: z.string().default(''),
  /** How it ended, as long as nobody has said to have noted it. */
  exit: exitSchema.optional(),
  /** The start before, where that had ended and nobody had said to have noted it. */
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

/** Read at a time: enough to keep a disk busy. */
const filesAtOnce = 64

/**
 * What runs, and what has ended and is not noted elsewhere yet, on disk: `<folder>/<uid>.json`. Written before a
 * program runs, so that the next run of this program finds it. Needs no fsync: a crash of the machine ends the
 * processes, too. Never on the event loop: others need not wait for the disk.
 */
export class PodRecords {
  readonly #folder: string
  readonly #records = new Map<string, PodRecord>()
  /** The last write of each Pod's file that is under way. */
  readonly #writes = new Map<string, Promise<void>>()

  constructor(folder: string) {
    this.#folder = folder
    mkdirSync(folder, { recursive: true })
  }

  /** Resolves when it is written; it stands in place of what this container was before. */
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
    // Nothing is run beside it any more: what that would need may be secret, and goes.
    const { env: _env, ...rest } = ended
    return this.#put({ ...record, containers: { ...record.containers, [container]: { ...rest, exit } } })
  }

  /** It did not come to run: what there is to say is of the start before, if anything. */
  drop(uid: string, container: string): Promise<void> {
    const record = this.#records.get(uid)
    const dropped = record?.containers[container]
    // One that has ended did run: it is the start before, and this one was never recorded.
    if (!record || !dropped || dropped.exit) return Promise.resolve()
    const { before, ...rest } = dropped
    if (!before) return this.#without(uid, (name) => name === container)
    return this.#put({ ...record, containers: { ...record.containers, [container]: { ...rest, ...before } } })
  }

  /** How these ended is noted elsewhere. */
  settle(uid: string, isNoted: (container: string) => boolean): Promise<void> {
    return this.#without(uid, (name, { exit }) => exit !== undefined && isNoted(name))
  }

  /** What has ended and is not settled. */
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

  /** Those of an earlier run. Unreadable records are left out: what they recorded is still found by its marks. */
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

  /** By a run that was killed while it wrote them: nobody else would take them away, and variables may be secret. */
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

  /** One after the other for each Pod, each as things are by then. */
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
    // Variables may be secret.
    await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 })
    await rename(`${path}.new`, path)
  }
}

/** What tells a Pod's processes of this boot of the machine. */
export function recordOf({ uid, namespace, name }: PodIdentity, podIP: string, bootId: string) {
  return { uid, namespace, name, podIP, bootId }
}
