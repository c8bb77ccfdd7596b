import { modelOfPod } from '../../../resources/model-ownership.ts'
import type { Model } from '../../../resources/model.ts'
import type { ObjectRef } from '../../../resources/object-ref.ts'
import { type Pod, podKind } from '../../../resources/pod.ts'
import type { PodView } from '../console-shapes.ts'

/** More are not sent to a browser; those of Models come first. */
export const mostPods = 1_000

export function podView(pod: Pod, models: { get(ref: ObjectRef): Model | undefined }): PodView {
  const { metadata, spec, status } = pod
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    model: modelOfPod(pod, models)?.metadata.name,
    node: spec.nodeName,
    status: cell(pod, 'Status'),
    ready: cell(pod, 'Ready'),
    restarts: (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
    containers: [...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name),
    createdAt: metadata.creationTimestamp ?? undefined,
    message: status?.message,
  }
}

/** The same words as everywhere else. The age is not among those columns, so the time does not matter. */
function cell(pod: Pod, column: string): string {
  return String(podKind.columns.find(({ name }) => name === column)?.cell?.(pod, 0) ?? '')
}
