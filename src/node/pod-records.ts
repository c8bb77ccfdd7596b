import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const containerRecordSchema = z.object({
  pid: z.int().positive(),
  startTime: z.string(),
  attempt: z.int(),
  startedAt: z.number(),
  cards: z.array(z.int()),
  /** In namespaces of its own. */
  isolated: z.boolean().default(false),
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
  /** What a program that is run beside it gets, too. Not there in records of older versions. */
  env: z.record(z.string(), z.string()).optional(),
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

/**
 * What runs, on disk: `<folder>/<uid>.json`. Written before anybody is told of a process, so that the next run of this
 * program finds it. Needs no fsync: a crash of the machine ends the processes, too.
 */
export class PodRecords {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
    mkdirSync(folder, { recursive: true })
  }

  write(record: PodRecord): void {
    const path = this.#path(record.uid)
    // Variables may be secret.
    writeFileSync(`${path}.new`, JSON.stringify(record), { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }

  remove(uid: string): void {
    rmSync(this.#path(uid), { force: true })
  }

  /** Unreadable records are left out: what they recorded is still found by its marks. */
  all(): PodRecord[] {
    return readdirSync(this.#folder)
      .filter((name) => name.endsWith('.json'))
      .flatMap((name) => {
        try {
          return [podRecordSchema.parse(JSON.parse(readFileSync(join(this.#folder, name), 'utf8')))]
        } catch {
          return []
        }
      })
  }

  #path(uid: string): string {
    return join(this.#folder, `${uid}.json`)
  }
}
