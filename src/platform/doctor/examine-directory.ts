import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, statfsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { errorMessage } from '../../foundation/errors.ts'
import { StoreSurvey, type SurveyedResource } from '../../store/sqlite-file/store-survey.ts'
import { crashesBeforeSafeMode, parseStartRecord, startRecordFile } from '../data/start-record.ts'
import { type Finding, ObjectExamination } from './examine-objects.ts'

/** What was found in a data directory, without starting or changing anything. */
export interface Examination {
  readonly directory: string
  readonly facts: readonly string[]
  /** Empty if nothing is unusual. */
  readonly findings: readonly Finding[]
}

const littleSpaceBytes = 256 * 1024 * 1024
/** A larger directory has grown for some reason. */
const largeStoreBytes = 512 * 1024 * 1024
const mostResources = 8
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
  const facts: string[] = []
  const findings: Finding[] = [...spaceFindings(directory), ...logFindings(directory)]
  const file = join(directory, 'sluice.db')
  if (!existsSync(file)) {
    return { directory, facts: ['There is no store yet: nothing was ever started here.'], findings }
  }
  try {
    const survey = StoreSurvey.open(file)
    try {
      const resources = survey.resources()
      facts.push(...storeFacts(survey, resources))
      if (survey.fileBytes > largeStoreBytes) {
        findings.push({
          what: `The store has ${megabytes(survey.fileBytes)}.`,
          advice: 'The most numerous objects are listed above; what nobody needs can be deleted.',
        })
      }
      const examination = new ObjectExamination(now)
      for (const { resource, object } of survey.objects()) examination.look(resource, object)
      findings.push(...examination.findings())
    } finally {
      survey.close()
    }
  } catch (error) {
    findings.push({ what: errorMessage(error), advice: 'Until then nothing can be started from this directory.' })
  }
  return { directory, facts, findings }
}

function storeFacts(survey: StoreSurvey, resources: readonly SurveyedResource[]): string[] {
  const objects = resources.reduce((sum, { objects }) => sum + objects, 0)
  const lines = [`The store has ${objects} objects in ${megabytes(survey.fileBytes)}, at revision ${survey.revision}.`]
  for (const { resource, namespace, objects, bytes } of resources.slice(0, mostResources)) {
    lines.push(`  ${objects} ${resource}${namespace === '' ? '' : ` in ${namespace}`} (${megabytes(bytes)})`)
  }
  return lines
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

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(bytes < 10 * 1024 * 1024 ? 1 : 0)} MiB`
}
