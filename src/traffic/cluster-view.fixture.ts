import { engineKeysName, engineKeysType, engineKeyVariable } from '../resources/engine-keys.ts'
import type { Model, ModelPhase } from '../resources/model.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { HeldObjects } from '../resources/object-cache.ts'
import type { Pod } from '../resources/pod.ts'
import type { Secret } from '../resources/secret.ts'

/** An ObjectCache that a test fills by hand. */
export class FakeCache<T extends KubernetesObject> extends HeldObjects<T> {
  override synced = true
}

export interface FakePodOptions {
  readonly model?: string
  /** Of the Model that made it; none made it where it is empty. */
  readonly modelUid?: string
  readonly uid?: string
  readonly host?: string
  readonly port?: number
  readonly ready?: boolean
  readonly terminating?: boolean
  readonly draining?: boolean
  readonly capacity?: number
  /** Which of its Model's keys its engine was started with. */
  readonly keyId?: string
}

export function fakePod(name: string, options: FakePodOptions = {}): Pod {
  const { model = 'tiny', host = '127.64.0.1', port = 8000, ready = true, modelUid = `uid-${model}` } = options
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'sluice',
      uid: options.uid ?? `uid-${name}`,
      labels: { 'sluice.dev/model': model },
      ...(modelUid === '' ? {} : { ownerReferences: [madeBy(model, modelUid)] }),
      ...(options.terminating ? { deletionTimestamp: '2030-01-01T00:00:00Z' } : {}),
      annotations: {
        ...(options.draining ? { 'sluice.dev/draining-since': '2030-01-01T00:00:00Z' } : {}),
        ...(options.capacity ? { 'sluice.dev/request-capacity': String(options.capacity) } : {}),
      },
    },
    spec: {
      containers: [
        {
          name: 'server',
          ports: [{ name: 'http', containerPort: port, protocol: 'TCP' }],
          ...(options.keyId && { env: [engineKeyVariable('LLAMA_API_KEY', model, options.keyId)] }),
        },
      ],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
    },
    status: { phase: 'Running', podIP: host, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  }
}

/** The keys of a Model's engines, by id. */
export function fakeKeys(model: string, keys: Readonly<Record<string, string>>): Secret {
  const data = Object.entries(keys).map(([id, key]) => [id, Buffer.from(key).toString('base64')] as const)
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: engineKeysName(model), namespace: 'sluice', labels: { 'sluice.dev/model': model } },
    type: engineKeysType,
    data: Object.fromEntries(data),
  }
}

/** What a Pod says of the Model that made it. */
function madeBy(name: string, uid: string) {
  return { apiVersion: 'sluice.dev/v1', kind: 'Model', name, uid, controller: true, blockOwnerDeletion: true }
}

export function fakeModel(name: string, phase: ModelPhase = 'Asleep', message?: string): Model {
  return {
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name, namespace: 'sluice', uid: `uid-${name}`, creationTimestamp: '2030-01-01T00:00:00Z' },
    spec: {
      features: ['TextGeneration'],
      owner: 'somebody',
      url: `pvc://userdata/models/${name}`,
      engine: 'LlamaCpp',
      imagePullSecrets: [],
      resourceProfile: 'default:1',
      minReplicas: 0,
      maxReplicas: 1,
      targetRequests: 100,
      scaleDownDelaySeconds: 30,
    },
    status: message === undefined ? { phase } : { phase, message },
  }
}
