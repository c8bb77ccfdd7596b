import { z } from 'zod'
import { coreAgeColumn, humanDuration } from './columns/age.ts'
import { selectorText } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import type { FieldError } from './field-error.ts'
import { type JsonObject, isJsonObject } from './json-value.ts'
import type { Envelope } from './kind-facts.ts'
import { type KubernetesObject, conditionSchema, objectMetaSchema } from './kubernetes-object.ts'
import { containersColumn, imagesColumn, labelSelectorSchema, podTemplateSchema } from './pod-template.ts'
import { podTypes } from './pod-types.ts'
import { missing } from './type-rules.ts'
import { fixed, specOf } from './update-rules.ts'
import { checkJob } from './validation/workload-rules.ts'

const count = z.int().optional()

const failureRuleSchema = z.looseObject({
  action: z.string(),
  onExitCodes: z
    .looseObject({ containerName: z.string().optional(), operator: z.string(), values: z.array(z.int()).optional() })
    .optional(),
  onPodConditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).optional(),
})

const successRuleSchema = z.looseObject({ succeededIndexes: z.string().optional(), succeededCount: count })

export const jobSchema = z.looseObject({
  apiVersion: z.literal('batch/v1'),
  kind: z.literal('Job'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    parallelism: count,
    completions: count,
    backoffLimit: count,
    backoffLimitPerIndex: count,
    maxFailedIndexes: count,
    podFailurePolicy: z.looseObject({ rules: z.array(failureRuleSchema).optional() }).optional(),
    successPolicy: z.looseObject({ rules: z.array(successRuleSchema).optional() }).optional(),
    activeDeadlineSeconds: count,
    ttlSecondsAfterFinished: count,
    completionMode: z.string().optional(),
    podReplacementPolicy: z.string().optional(),
    managedBy: z.string().optional(),
    suspend: z.boolean().optional(),
    manualSelector: z.boolean().optional(),
    selector: labelSelectorSchema.optional(),
    template: podTemplateSchema,
  }),
  status: z
    .looseObject({
      active: count,
      ready: count,
      succeeded: count,
      failed: count,
      terminating: count,
      completedIndexes: z.string().optional(),
      failedIndexes: z.string().optional(),
      uncountedTerminatedPods: z
        .looseObject({ succeeded: z.array(z.string()).optional(), failed: z.array(z.string()).optional() })
        .optional(),
      startTime: z.string().optional(),
      completionTime: z.string().optional(),
      conditions: z.array(conditionSchema.loose()).optional(),
    })
    .optional(),
})

export type Job = z.infer<typeof jobSchema>

export const jobKind = coreKind(jobSchema, {
  group: 'batch',
  kind: 'Job',
  plural: 'jobs',
  categories: ['all'],
  hasStatus: true,
  hasGeneration: true,
  validate: checkJob,
  immutable: [checkJobUpdate],
  selectableFields: [{ field: 'status.successful', from: ['status.succeeded'], whenMissing: '0' }],
  types: {
    ...podTypes,
    'io.k8s.api.batch.v1.Job': { parts: ['spec'] },
    'io.k8s.api.batch.v1.JobSpec': { parts: ['template'], complete: completeSpec },
    'io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern': { complete: missing({ status: 'True' }) },
  },
  complete: (job, previous) => labelLikeTemplate(previous === undefined ? selectOwnPods(job) : job),
  columns: [
    { name: 'Status', type: 'string', cell: statusWord },
    { name: 'Completions', type: 'string', cell: completionsText },
    { name: 'Duration', type: 'string', cell: durationText },
    coreAgeColumn,
    containersColumn,
    imagesColumn,
    { name: 'Selector', type: 'string', priority: 1, cell: ({ spec }) => selectorText(spec.selector) || '<none>' },
  ],
})

function statusWord({ metadata, status }: Job): string {
  const has = (wanted: string) =>
    status?.conditions?.some(({ type, status: value }) => type === wanted && value === 'True') ?? false
  if (has('Complete')) return 'Complete'
  if (has('Failed')) return 'Failed'
  if (metadata.deletionTimestamp !== undefined) return 'Terminating'
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(has) ?? 'Running'
}

function completionsText({ spec, status }: Job): string {
  const succeeded = status?.succeeded ?? 0
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`
  const parallelism = spec.parallelism ?? 0
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function durationText({ status }: Job, now: number): string {
  if (!status?.startTime) return ''
  const end = status.completionTime ? Date.parse(status.completionTime) : now
  return humanDuration(end - Date.parse(status.startTime))
}

function completeSpec(spec: JsonObject): JsonObject {
  const single = spec['completions'] === undefined && spec['parallelism'] === undefined
  return missing({
    ...(single && { completions: 1 }),
    parallelism: 1,
    backoffLimit: spec['backoffLimitPerIndex'] === undefined ? 6 : 2_147_483_647,
    completionMode: 'NonIndexed',
    manualSelector: false,
    podReplacementPolicy: spec['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed',
    suspend: false,
  })(spec)
}

/** By default, a Job selects its Pods by its uid. */
function selectOwnPods(job: Envelope): Envelope {
  const spec = specOf(job)
  const { uid, name } = job.metadata
  if (spec['manualSelector'] === true || !isJsonObject(spec['template'])) return job
  const legacy = { 'controller-uid': uid, 'job-name': name }
  const own = { 'batch.kubernetes.io/controller-uid': uid, 'batch.kubernetes.io/job-name': name }
  const metadata = metadataOfTemplate(job)
  const labels = { ...(isJsonObject(metadata['labels']) ? metadata['labels'] : {}), ...own, ...legacy }
  const template = { ...spec['template'], metadata: { ...metadata, labels } }
  const selector = isJsonObject(spec['selector']) ? spec['selector'] : {}
  const matchLabels = { 'batch.kubernetes.io/controller-uid': uid }
  return { ...job, spec: { ...spec, selector: { matchLabels, ...selector }, template } }
}

/** Like a real API server, gives a Job without labels those of its Pods. */
function labelLikeTemplate(job: Envelope): Envelope {
  const labels = metadataOfTemplate(job)['labels']
  const own = job.metadata['labels']
  if (!isJsonObject(labels) || (isJsonObject(own) && Object.keys(own).length > 0)) return job
  // A name that is too long for a label is refused where it appears in the template.
  if (String(job.metadata['name']).length > 63) return job
  return { ...job, metadata: { ...job.metadata, labels } }
}

function metadataOfTemplate(job: JsonObject): JsonObject {
  const { template } = specOf(job)
  return isJsonObject(template) && isJsonObject(template['metadata']) ? template['metadata'] : {}
}

/** The completions of an indexed Job may change together with its parallelism; the template while it is suspended. */
function checkJobUpdate(next: KubernetesObject, previous: KubernetesObject): FieldError[] {
  const [after, before] = [specOf(next), specOf(previous)]
  const resized = before['completionMode'] === 'Indexed' && after['completions'] === after['parallelism']
  const policies = ['podFailurePolicy', 'backoffLimitPerIndex', 'successPolicy']
  const names = ['selector', 'completionMode', ...policies, ...(resized ? [] : ['completions'])]
  const changed = before['suspend'] === true ? names : [...names, 'template']
  return changed.flatMap((name) => fixed(`spec.${name}`)(next, previous))
}
