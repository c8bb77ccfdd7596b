import type { Job } from '../../resources/job.ts'
import type { Pod } from '../../resources/pod.ts'

type Rule = NonNullable<NonNullable<Job['spec']['podFailurePolicy']>['rules']>[number]

/** What the first matching rule says about a failed Pod. */
export interface MatchedFailure {
  readonly action: string
  /** In the words of Kubernetes. */
  readonly message: string
}

/** `undefined`: no rule matches, so the failure counts like any other. */
export function matchFailure({ spec }: Job, pod: Pod): MatchedFailure | undefined {
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const found = matchExitCode(rule, pod) ?? matchCondition(rule, pod)
    if (found !== undefined) {
      return { action: rule.action, message: `${found} matching ${rule.action} rule at index ${index}` }
    }
  }
  return undefined
}

/** Whether a failure does not count towards the limits of a Job or its indexes. */
export function isIgnored(job: Job, pod: Pod): boolean {
  return matchFailure(job, pod)?.action === 'Ignore'
}

function matchExitCode({ onExitCodes }: Rule, { metadata, status }: Pod): string | undefined {
  if (!onExitCodes) return undefined
  const { containerName, operator, values = [] } = onExitCodes
  for (const { name, state } of [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]) {
    const code = state?.terminated?.exitCode ?? 0
    if (code === 0 || (containerName !== undefined && containerName !== name)) continue
    if (values.includes(code) === (operator === 'In')) {
      return `Container ${name} for pod ${metadata.namespace}/${metadata.name} failed with exit code ${code}`
    }
  }
  return undefined
}

function matchCondition({ onPodConditions = [] }: Rule, { metadata, status }: Pod): string | undefined {
  const found = status?.conditions?.find((condition) =>
    onPodConditions.some((pattern) => pattern.type === condition.type && pattern.status === condition.status),
  )
  return found && `Pod ${metadata.namespace}/${metadata.name} has condition ${found.type}`
}
