import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, statfsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { clusterRecordFile } from '../clusters/cluster-record.ts'
import { crashesBeforeSafeMode, parseStartRecord, startRecordFile } from '../data/start-record.ts'
import type { Finding } from './examine-objects.ts'
import { examineStore, megabytes } from './examine-store.ts'
import { type FurtherStore, furtherStores } from './further-stores.ts'

/** What was found in a data directory, without starting or changing anything. */
export interface Examination {
  readonly directory: string
  readonly facts: readonly string[]
  /** Empty if nothing is unusual. */
  readonly findings: readonly Finding[]
}

const littleSpaceBytes = 256 * 1024 * 1024
const logTailBytes = 256 * 1024
const mostLogLines = 3

/** The objects' times are compared with `now`. No process may be using the directory. */
export function examineDirectory(path: string, now: number): Examination {
  const { directory, facts, findings } = examineContent(path, now)
  return { directory, facts, findings: [...startFindings(directory), ...findings] }
}

/** The same, but without the record of starts: for a start that knows it already. */
export function examineContent(path: string, now: number): Examination {
  const directory = resolve(path)
  const findings: Finding[] = [...spaceFindings(directory), ...logFindings(directory)]
  const file = join(directory, 'sluice.db')
  if (!existsSync(file)) {
    return { directory, facts: ['There is no store yet: nothing was ever started here.'], findings }
  }
  const damage = 'Until then nothing can be started from this directory.'
  const home = examineStore(file, now, { store: 'The store', damage })
  const further = furtherStores(directory).map((store) => examineFurther(store, now, home.clusters))
  return {
    directory,
    facts: [home, ...further].flatMap(({ facts }) => facts),
    findings: [...findings, ...[home, ...further].flatMap((examined) => examined.findings)],
  }
}

/** What is found there says whose it is: objects of two clusters can have the same names. */
function examineFurther(
  { id, name, file }: FurtherStore,
  now: number,
  clusters: ReadonlySet<string>,
): Pick<Examination, 'facts' | 'findings'> {
  if (name === undefined) {
    const what = `${join(dirname(file), clusterRecordFile)} cannot be read: nobody knows which cluster ${id} is.`
    const advice = 'No cluster without a folder of its own can be started until it can be read, or is moved away.'
    return { facts: [], findings: [{ what, advice }] }
  }
  const store = `The store of cluster ${name} (${id}${clusters.has(name) ? '' : ', deleted, its data kept'})`
  const damage = 'Until then this cluster is Abnormal; the others start as ever.'
  const { facts, findings } = examineStore(file, now, { store, damage })
  return { facts, findings: findings.map(({ what, advice }) => ({ what: `Cluster ${name} (${id}): ${what}`, advice })) }
}

function startFindings(directory: string): readonly Finding[] {
  const { crashes, begunAt } = parseStartRecord(readText(join(directory, startRecordFile)))
  if (crashes === 0) return []
  const next =
    crashes >= crashesBeforeSafeMode ? 'The next start is in safe mode.' : 'One more, and the next start is careful.'
  return [{ what: `The last ${crashes} starts crashed, the newest of ${begunAt ?? 'an unknown time'}.`, advice: next }]
}

function spaceFindings(directory: string): readonly Finding[] {
  if (!existsSync(directory)) return []
  const { bavail, bsize } = statfsSync(directory)
  if (bavail * bsize >= littleSpaceBytes) return []
  return [
    { what: `The disk has ${megabytes(bavail * bsize)} left.`, advice: 'Writes fail when it is full: make room.' },
  ]
}

/** The latest lines of the log that tell what went wrong. */
function logFindings(directory: string): readonly Finding[] {
  const lines = readTail(join(directory, 'logs', 'sluice.log')).split('\n')
  const bad = lines.filter((line) => /"level":"(error|fatal)"/.test(line)).slice(-mostLogLines)
  return bad.map((line) => ({ what: `The log says: ${line.slice(0, 400)}`, advice: 'logs/sluice.log has the rest.' }))
}

function readText(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

function readTail(path: string): string {
  if (!existsSync(path)) return ''
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const tail = Buffer.alloc(Math.min(size, logTailBytes))
    return tail.toString('utf8', 0, readSync(file, tail, 0, tail.length, size - tail.length))
  } finally {
    closeSync(file)
  }
}
