import { type Pod, podSchema } from '../../resources/pod.ts'

export interface ContainerFacts {
  readonly name?: string
  readonly started?: boolean
  readonly state?: object
  readonly restartCount?: number
}

export const loading: ContainerFacts = { state: { running: {} }, started: false }

export function podWith(
  name: string,
  engine: ContainerFacts,
  status: Record<string, unknown> = {},
  owner = 'Model',
): Pod {
  const container = { name: 'engine', ready: false, restartCount: 0, image: 'i', imageID: 'i', ...engine }
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'sluice',
      uid: `uid-${name}`,
      ownerReferences: [{ apiVersion: 'sluice.dev/v1', kind: owner, name: 'm', uid: 'u', controller: true }],
    },
    spec: { containers: [{ name: 'engine' }] },
    status: { phase: 'Running', containerStatuses: [container], ...status },
  })
}
