import type { Job } from '../../resources/job.ts'
import type { PodTemplate } from '../../resources/pod-template.ts'
import type { Pod } from '../../resources/pod.ts'
import type { PodIdentity } from '../pods/pod-control.ts'
import { indexAnnotation } from './completion-indexes.ts'
import { failureAnnotations } from './index-failures.ts'
import { trackingFinalizer } from './job-facts.ts'

const longestHostname = 63

/**
 * What distinguishes the Pods of a Job: for an indexed one the index, and its count of failures where that is tracked.
 */
export function jobPodIdentity(job: Job, index: number | undefined, replaced?: Pod): PodIdentity {
  const finalizers = [trackingFinalizer]
  if (index === undefined) return { finalizers }
  const labels = { [indexAnnotation]: String(index) }
  const annotations = { ...labels, ...failureAnnotations(job, replaced) }
  return { generateName: `${job.metadata.name}-${index}-`, labels, annotations, finalizers }
}

export function jobPodTemplate({ metadata, spec }: Job, index: number | undefined): PodTemplate {
  const { template } = spec
  if (index === undefined) return template
  const containers = template.spec.containers.map(withIndex)
  const initContainers = template.spec.initContainers?.map(withIndex)
  const hostname = `${metadata.name}-${index}`.slice(-longestHostname)
  return {
    ...template,
    spec: { ...template.spec, hostname, containers, ...(initContainers && { initContainers }) },
  }
}

type Container = PodTemplate['spec']['containers'][number]

function withIndex(container: Container): Container {
  const name = 'JOB_COMPLETION_INDEX'
  if (container.env?.some((variable) => variable.name === name)) return container
  const valueFrom = { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.labels['${indexAnnotation}']` } }
  return { ...container, env: [...(container.env ?? []), { name, valueFrom }] }
}
