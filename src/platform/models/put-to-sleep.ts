import { setTimeout } from 'node:timers/promises'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { connectKubernetes } from '../../cluster/kubernetes-client.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import { gatewayNamespace, modelLabel } from '../../resources/model-labels.ts'
import { controllingModel } from '../../resources/model-ownership.ts'
import { modelKind } from '../../resources/model.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { isStatusError } from '../../resources/status-error.ts'
import type { KubeconfigChoice } from '../commanded-cluster.ts'

const namespace = gatewayNamespace
const lookEveryMs = 250
/** Of the Pods that the chart's controllers are. */
const controllerLabels = { 'sluice.dev/role': 'controller' }

export interface SleepOrder {
  readonly models: ReadonlySet<string> | 'all'
  /** Whether to begin only when no controller is left, which would start Pods anew. */
  readonly afterControllers: boolean
}

/** Puts Models to sleep in the cluster of a kubeconfig; without one, in the cluster that this program runs in. */
export async function putToSleepIn(
  kubeconfig: KubeconfigChoice,
  order: SleepOrder,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const client = await connectKubernetes(kubeconfig.path, { context: kubeconfig.context })
  try {
    return await putToSleep(client, order, signal)
  } finally {
    client.close()
  }
}

/** Ends the Pods of Models and asks for none. Returns the names of the Models that had some. */
export async function putToSleep(
  client: ClusterClient,
  { models, afterControllers }: SleepOrder,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const listPods = async (labels: Readonly<Record<string, string>> = {}) =>
    (await client.list(podKind, { namespace, labels }, signal)).items
  if (afterControllers) await untilGone(() => listPods(controllerLabels), signal)
  const isMeant = (name: string | undefined) => name !== undefined && (models === 'all' || models.has(name))
  for (const model of (await client.list(modelKind, { namespace }, signal)).items) {
    if (!isMeant(model.metadata.name) || (model.spec.replicas ?? 0) === 0) continue
    await unlessGone(() => client.scale(modelKind, refOf(model), 0, signal))
  }
  const podsOfModels = async () => (await listPods()).filter((pod) => isMeant(modelOf(pod)))
  const pods = await podsOfModels()
  for (const pod of pods) {
    await unlessGone(() => client.delete(podKind, refOf(pod), { uid: pod.metadata.uid }, signal))
  }
  // They are gone when their programs have ended, which may take as long as their grace.
  const ended = new Set(pods.map(({ metadata }) => metadata.uid))
  await untilGone(async () => (await podsOfModels()).filter(({ metadata }) => ended.has(metadata.uid)), signal)
  return [...new Set(pods.map((pod) => modelOf(pod) ?? ''))].toSorted()
}

/** Somebody's own Pod may carry the label; only what a Model controls is ended. */
function modelOf(pod: Pod): string | undefined {
  return pod.metadata.labels?.[modelLabel] === undefined ? undefined : controllingModel(pod)?.name
}

async function untilGone(list: () => Promise<readonly Pod[]>, signal: AbortSignal): Promise<void> {
  for (let left = await list(); left.length > 0; left = await list()) {
    try {
      await setTimeout(lookEveryMs, undefined, { signal })
    } catch (error) {
      const pods = left.map(({ metadata }) => metadata.name).join(', ')
      throw new SluiceError('pods_do_not_end', { pods }, { cause: error })
    }
  }
}

async function unlessGone(act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    // Another Pod or Model may have its name by now.
    if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error
  }
}
