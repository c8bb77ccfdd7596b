import { z } from 'zod'
import { coreAgeColumn, humanDuration } from './columns/age.ts'
import { selectorText } from './columns/cell-texts.ts'
import { coreKind } from './core-kind.ts'
import { conditionSchema, objectMetaSchema } from './kubernetes-object.ts'
import { containersColumn, imagesColumn, labelSelectorSchema, podTemplateSchema } from './pod-template.ts'
import { checkJob } from './validation/workload-rules.ts'

const count = z.int().optional()

export const jobSchema = z.looseObject({
  apiVersion: z.literal('batch/v1'),
  kind: z.literal('Job'),
  metadata: objectMetaSchema,
  spec: z.looseObject({
    parallelism: count,
    completions: count,
    backoffLimit: count,
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
