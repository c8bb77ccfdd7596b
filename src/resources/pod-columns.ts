import { ageColumn } from './age.ts'
import type { Column } from './kind.ts'
import type { Pod } from './pod.ts'

export const podColumns: ReadonlyArray<Column<Pod>> = [
  {
    name: 'Ready',
    type: 'string',
    cell: (pod) => {
      const ready = (pod.status?.containerStatuses ?? []).filter((container) => container.ready).length
      return `${ready}/${pod.spec.containers.length}`
    },
  },
  { name: 'Status', type: 'string', cell: podStatusWord },
  {
    name: 'Restarts',
    type: 'string',
    cell: (pod) => (pod.status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
  },
  ageColumn,
  { name: 'IP', type: 'string', priority: 1, cell: (pod) => pod.status?.podIP ?? '<none>' },
  { name: 'Node', type: 'string', priority: 1, cell: (pod) => pod.spec.nodeName ?? '<none>' },
]

/** The one word kubectl shows for a Pod: the most telling of phase, reason and container states. */
function podStatusWord(pod: Pod): string {
  if (pod.metadata.deletionTimestamp !== undefined) return 'Terminating'
  for (const { state } of pod.status?.containerStatuses ?? []) {
    if (state?.waiting?.reason) return state.waiting.reason
    if (state?.terminated) return state.terminated.reason ?? `ExitCode:${state.terminated.exitCode}`
  }
  return pod.status?.reason ?? pod.status?.phase ?? 'Unknown'
}
