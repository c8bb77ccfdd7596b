import { errorMessage } from '../../foundation/errors.ts'
import { clusterKind } from '../../resources/cluster.ts'
import { StoreSurvey, type SurveyedResource } from '../../store/sqlite-file/store-survey.ts'
import { type Finding, ObjectExamination } from './examine-objects.ts'

/** What a look at the store of one cluster brought. */
export interface StoreExamination {
  readonly facts: readonly string[]
  readonly findings: readonly Finding[]
  /** The names of the Clusters in it, which the home cluster's alone can have. */
  readonly clusters: ReadonlySet<string>
}

/** A directory that is larger than this grew for a reason. */
const largeStoreBytes = 512 * 1024 * 1024
const mostResources = 8
const clusterResource = `${clusterKind.plural}.${clusterKind.group}`

/** `store` is what it is called in sentences; `damage` what it means when it cannot be read. */
export function examineStore(
  file: string,
  now: number,
  { store, damage }: { readonly store: string; readonly damage: string },
): StoreExamination {
  const facts: string[] = []
  const findings: Finding[] = []
  const clusters = new Set<string>()
  try {
    const survey = StoreSurvey.open(file)
    try {
      facts.push(...storeFacts(survey, survey.resources(), store))
      if (survey.fileBytes > largeStoreBytes) {
        findings.push({
          what: `${store} has ${megabytes(survey.fileBytes)}.`,
          advice: 'The most numerous objects are listed above; what nobody needs can be deleted.',
        })
      }
      const examination = new ObjectExamination(now)
      for (const { resource, object } of survey.objects()) {
        examination.look(resource, object)
        if (resource === clusterResource) clusters.add(object.metadata.name)
      }
      findings.push(...examination.findings())
    } finally {
      survey.close()
    }
  } catch (error) {
    findings.push({ what: errorMessage(error), advice: damage })
  }
  return { facts, findings, clusters }
}

function storeFacts(survey: StoreSurvey, resources: readonly SurveyedResource[], store: string): string[] {
  const objects = resources.reduce((sum, { objects }) => sum + objects, 0)
  const lines = [`${store} has ${objects} objects in ${megabytes(survey.fileBytes)}, at revision ${survey.revision}.`]
  for (const { resource, namespace, objects, bytes } of resources.slice(0, mostResources)) {
    lines.push(`  ${objects} ${resource}${namespace === '' ? '' : ` in ${namespace}`} (${megabytes(bytes)})`)
  }
  return lines
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(bytes < 10 * 1024 * 1024 ? 1 : 0)} MiB`
}
