import { createHash } from 'node:crypto'
import type { NewObject } from '../cluster/cluster-client.ts'
import { engineKeyVariable } from '../resources/engine-keys.ts'
import { enginePortName, modelHashLabel, modelLabel, requestCapacityAnnotation } from '../resources/model-labels.ts'
import { parseModelUrl, parseResourceProfile } from '../resources/model-references.ts'
import type { EngineName, Model } from '../resources/model.ts'
import type { OwnerReference } from '../resources/kubernetes-object.ts'
import type { Pod } from '../resources/pod.ts'
import { type EnginePod, type ServeOrder, enginePort } from './engines/engine-pod.ts'
import { llamaCppPod } from './engines/llama-cpp.ts'
import { vllmPod } from './engines/vllm.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { type ResolvedProfile, profilePlacement, profileResources } from './resource-profile.ts'

/** A Pod to create. */
export interface NewPod extends NewObject<Pod> {
  readonly metadata: Pod['metadata']
  readonly spec: Pod['spec']
}

/** On a Pod that replaces a failed one: how many failed before it, so that replacing slows down. */
export const failuresAnnotation = 'sluice.dev/failures'

const engines: Record<EngineName, (order: ServeOrder) => EnginePod> = { LlamaCpp: llamaCppPod, VLLM: vllmPod }
/**
 * How many requests an engine accepts before it refuses them; the gateway lets the others wait. Engines not listed
 * queue without bound.
 */
const requestCapacities: Partial<Record<EngineName, number>> = { LlamaCpp: 64 }
/** The variable in which each engine expects the key that requests must carry. */
const keyVariables: Record<EngineName, string> = { LlamaCpp: 'LLAMA_API_KEY', VLLM: 'VLLM_API_KEY' }
const modelsMount = '/mnt/models'
const longestName = 63

/** What a Pod of this Model runs. Equal Models give equal specs: a Pod with another spec is out of date. */
export function modelPodSpec(
  model: Model,
  profile: ResolvedProfile,
  facts: Pick<OperatorFacts, 'registry' | 'version'>,
): Pod['spec'] {
  const { claim, path } = parseModelUrl(model.spec.url)
  const { cards } = parseResourceProfile(model.spec.resourceProfile)
  const modelPath = `${modelsMount}/${path}`
  const engine = engines[model.spec.engine]({
    modelName: model.metadata.name,
    modelPath,
    cards,
    args: model.spec.args ?? [],
  })
  const health = { httpGet: { path: '/health', port: enginePortName } }
  return {
    restartPolicy: 'Always',
    // An engine needs nothing from the cluster; and variables named after Services, such as VLLM_PORT, would be taken
    // for its settings.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: engine.graceSeconds,
    imagePullSecrets: model.spec.imagePullSecrets.map((name) => ({ name })),
    ...profilePlacement(profile),
    containers: [
      {
        name: 'engine',
        image: `${facts.registry}/sluice/${engine.image}:${facts.version}`,
        args: [...engine.args],
        env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
        ports: [{ name: enginePortName, containerPort: enginePort, protocol: 'TCP' }],
        resources: profileResources(profile, cards, engine.requests),
        volumeMounts: [{ name: 'models', mountPath: modelsMount, readOnly: true }, ...engine.volumeMounts],
        startupProbe: { ...health, periodSeconds: 1, timeoutSeconds: 2, failureThreshold: engine.startupSeconds },
        readinessProbe: { ...health, periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 3 },
        // An engine that fails says why in its last lines; the Model's status shows them.
        terminationMessagePolicy: 'FallbackToLogsOnError',
      },
    ],
    volumes: [{ name: 'models', persistentVolumeClaim: { claimName: claim, readOnly: true } }, ...engine.volumes],
  }
}

export function specHash(spec: Pod['spec']): string {
  return createHash('sha256').update(JSON.stringify(spec)).digest('hex').slice(0, 10)
}

export function newModelPod(
  model: Model,
  { spec, hash }: { readonly spec: Pod['spec']; readonly hash: string },
  about: { readonly suffix: string; readonly failures: number; readonly engineKey: string | undefined },
): NewPod {
  const { name, namespace } = model.metadata
  const { suffix, failures, engineKey } = about
  const capacity = requestCapacities[model.spec.engine]
  const tail = `-${hash.slice(0, 5)}-${suffix}`
  const head = `model-${name}`.slice(0, longestName - tail.length).replace(/[^a-z0-9]+$/, '')
  return {
    metadata: {
      name: head + tail,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [modelLabel]: name, [modelHashLabel]: hash },
      annotations: {
        ...(failures > 0 && { [failuresAnnotation]: String(failures) }),
        ...(capacity !== undefined && { [requestCapacityAnnotation]: String(capacity) }),
      },
      ownerReferences: [ownerReferenceTo(model)],
    },
    // The key is not part of the hash: a Pod with another key is not out of date.
    spec: engineKey === undefined ? spec : withEngineKey(spec, model, engineKey),
  }
}

/** Gives an engine its key in the variable that it reads by itself; harmless for one that reads none. */
function withEngineKey(spec: Pod['spec'], { metadata, spec: { engine } }: Model, id: string): Pod['spec'] {
  const variable = engineKeyVariable(keyVariables[engine], metadata.name, id)
  const containers = spec.containers.map((container) => ({ ...container, env: [...(container.env ?? []), variable] }))
  return { ...spec, containers }
}

export function ownerReferenceTo({ apiVersion, kind, metadata: { name, uid = '' } }: Model): OwnerReference {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}
