import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'

/** Which cluster commands mean when nothing else says so: the one that was started last. */
export interface Context {
  /** Its data directory. */
  readonly data: string
}

const contextSchema = z.looseObject({ data: z.string().min(1) })

export function contextPath(environment: NodeJS.ProcessEnv = process.env): string {
  const folder = environment['XDG_CONFIG_HOME'] || join(environment['HOME'] || homedir(), '.config')
  return join(folder, 'sluice', 'context.json')
}

/** Undefined where there is none, or none that can be read: then it names nothing. */
export function readContext(environment: NodeJS.ProcessEnv = process.env): Context | undefined {
  try {
    return contextSchema.safeParse(JSON.parse(readFileSync(contextPath(environment), 'utf8'))).data
  } catch {
    return undefined
  }
}

/** Remembers a cluster for commands in other folders. A home that cannot be written to is no reason not to start. */
export function writeContext(context: Context, environment: NodeJS.ProcessEnv = process.env): void {
  const path = contextPath(environment)
  const temporary = `${path}.${process.pid}.new`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(temporary, `${JSON.stringify(context, undefined, 2)}\n`, { mode: 0o600 })
    renameSync(temporary, path)
  } catch {
    // Commands then need --data or $SLUICE_DATA outside the folder of the start, as the docs say.
  }
}
