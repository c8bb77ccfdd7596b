import type { Container, Pod } from '../../resources/pod.ts'
import { withoutVariables } from '../engines/placeholders.ts'
import { weightsContainer } from '../starts/start-progress.ts'
import type { WeightsCache } from './weights-cache.ts'

/** What of a Pod is about the Model's files. */
export interface WeightsParts {
  readonly initContainers?: readonly Container[]
  readonly volumes: NonNullable<Pod['spec']['volumes']>
  /** Of the engine. */
  readonly volumeMounts: NonNullable<Container['volumeMounts']>
}

export interface WeightsOrder {
  readonly claim: string
  /** In the claim. */
  readonly path: string
  /** This program's own image. */
  readonly image: string
  /** How long a copy may take. */
  readonly startupSeconds: number
}

/** Where engines find the claim, or what stands for it. */
export const modelsMount = '/mnt/models'
const claimMount = '/mnt/claim'
const cacheMount = '/mnt/cache'
const port = 8901
const portName = 'weights'

export function weightsParts(cache: WeightsCache | undefined, order: WeightsOrder): WeightsParts {
  const { claim } = order
  const models = { name: 'models', persistentVolumeClaim: { claimName: claim, readOnly: true } }
  if (!cache) return { volumes: [models], volumeMounts: [{ name: 'models', mountPath: modelsMount, readOnly: true }] }
  const source = cache.volume ?? { hostPath: { path: cache.hostPath, type: 'DirectoryOrCreate' } }
  return {
    initContainers: [copier(cache, order)],
    volumes: [models, { name: 'weights-cache', ...source }, { name: 'weights-links', emptyDir: {} }],
    // The engine sees links, which lead to the node's copy, or to the claim where there is none.
    volumeMounts: [
      { name: 'weights-links', mountPath: modelsMount, readOnly: true },
      { name: 'weights-cache', mountPath: cacheMount, readOnly: true },
      { name: 'models', mountPath: claimMount, readOnly: true },
    ],
  }
}

/**
 * A sidecar: the engine starts when it says that the files are there, and they are kept from being removed while it
 * runs, which is as long as the Pod.
 */
function copier(
  { size, runAsUser = 0 }: WeightsCache,
  { claim, path, image, startupSeconds }: WeightsOrder,
): Container {
  return {
    name: weightsContainer,
    image,
    restartPolicy: 'Always',
    args: [
      'model',
      'cache',
      `--claim=${claimMount}`,
      `--claim-name=${claim}`,
      `--cache=${cacheMount}`,
      `--size=${size}`,
      `--link=${modelsMount}`,
      '--host=$(POD_IP)',
      `--port=${port}`,
      '--',
      withoutVariables(path),
    ],
    env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
    ports: [{ name: portName, containerPort: port, protocol: 'TCP' }],
    resources: { requests: { cpu: '50m', memory: '96Mi' } },
    volumeMounts: [
      { name: 'models', mountPath: claimMount, readOnly: true },
      { name: 'weights-cache', mountPath: cacheMount },
      { name: 'weights-links', mountPath: modelsMount },
    ],
    startupProbe: {
      httpGet: { path: '/ready', port: portName },
      periodSeconds: 1,
      timeoutSeconds: 2,
      failureThreshold: startupSeconds,
    },
    securityContext: {
      runAsUser,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
    terminationMessagePolicy: 'FallbackToLogsOnError',
  }
}
