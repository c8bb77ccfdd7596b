import { createHash } from 'node:crypto'
import type { NewObject } from '../cluster/cluster-client.ts'
import { engineKeyVariable } from '../resources/engine-keys.ts'
import { enginePortName, modelHashLabel, modelLabel, requestCapacityAnnotation } from '../resources/model-labels.ts'
import { parseModelUrl, parseResourceProfile } from '../resources/model-references.ts'
import type { Model } from '../resources/model.ts'
import type { OwnerReference } from '../resources/kubernetes-object.ts'
import type { Container, Pod } from '../resources/pod.ts'
import { adapterParts } from './engines/engine-adapters.ts'
import { builtInEngines } from './engines/built-in-engines.ts'
import { type Engine, type EngineTable, resolveEngine } from './engines/engine.ts'
import { type PlaceholderValues, fillIn, withoutVariables } from './engines/placeholders.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { modelsMount, weightsParts } from './weights/weights-parts.ts'
import { type ResolvedProfile, profilePlacement, profileResources, timesCards } from './resource-profile.ts'

/** A Pod to create. */
export interface NewPod extends NewObject<Pod> {
  readonly metadata: Pod['metadata']
  readonly spec: Pod['spec']
}

/** On a Pod that replaces a failed one: how many failed before it, so that replacing slows down. */
export const failuresAnnotation = 'sluice.dev/failures'

/** The variable through which an engine gets its key that takes it as an argument. */
const keyArgumentVariable = 'SLUICE_ENGINE_KEY'
/** This program, which Pods with a cache of weights run, too. */
const ownImage = '{registry}/sluice/sluice:{version}'
const longestName = 63

/** What a Pod of this Model runs. Equal Models give equal specs: a Pod with another spec is out of date. */
export function modelPodSpec(
  model: Model,
  profile: ResolvedProfile,
  facts: Pick<OperatorFacts, 'registry' | 'version' | 'engines'>,
  /** The cards of the Pod itself, if it is a member of a group; the engine is told those of the whole group. */
  ownCards = parseResourceProfile(model.spec.resourceProfile).cards,
): Pod['spec'] {
  const engine = engineOf(model, facts.engines)
  const { claim, path } = parseModelUrl(model.spec.url)
  const filled = modelWords(model, facts)
  const { startupSeconds } = engine
  const image = fillIn(ownImage, filled)
  const weights = weightsParts(profile.weightsCache ?? engine.weightsCache, { claim, path, image, startupSeconds })
  const adapters = adapterParts(model, engine)
  const shared = sharedMemory(profile.sharedMemory ?? engine.sharedMemory)
  const runtimeClassName = profile.runtimeClassName ?? engine.runtimeClassName
  return {
    restartPolicy: 'Always',
    // An engine needs nothing from the cluster; and variables named after Services, such as VLLM_PORT, would be taken
    // for its settings.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: engine.graceSeconds,
    imagePullSecrets: pullSecrets(engine.imagePullSecrets, profile.imagePullSecrets, model.spec.imagePullSecrets),
    ...(runtimeClassName === undefined ? {} : { runtimeClassName }),
    ...(engine.podSecurityContext === undefined ? {} : { securityContext: engine.podSecurityContext }),
    ...profilePlacement(profile),
    ...(weights.initContainers === undefined ? {} : { initContainers: [...weights.initContainers] }),
    containers: [
      {
        name: 'engine',
        image: fillIn(imageTemplate(model, engine, profile), filled),
        ...(engine.imagePullPolicy === undefined ? {} : { imagePullPolicy: engine.imagePullPolicy }),
        ...engineCommand(model, engine, filled, adapters.args),
        ports: [{ name: enginePortName, containerPort: engine.port, protocol: 'TCP' }],
        resources: profileResources(profile, ownCards, {
          ...engine.requests,
          ...timesCards(engine.requestsPerCard, ownCards),
        }),
        volumeMounts: [
          ...weights.volumeMounts,
          ...adapters.volumeMounts,
          ...(shared.volumeMounts ?? []),
          ...(engine.volumeMounts ?? []),
        ],
        ...probesOf(engine),
        ...(engine.securityContext === undefined ? {} : { securityContext: engine.securityContext }),
        // An engine that fails says why in its last lines; the Model's status shows them.
        terminationMessagePolicy: 'FallbackToLogsOnError',
      },
    ],
    volumes: [...weights.volumes, ...adapters.volumes, ...(shared.volumes ?? []), ...(engine.volumes ?? [])],
  }
}

/** What the words in braces of the Model's engine stand for. */
export function modelWords(
  model: Model,
  facts: Pick<OperatorFacts, 'registry' | 'version' | 'engines'>,
): PlaceholderValues {
  const { cards } = parseResourceProfile(model.spec.resourceProfile)
  const { path } = parseModelUrl(model.spec.url)
  return placeholderValues(model, engineOf(model, facts.engines), cards, `${modelsMount}/${path}`, facts)
}

/** The image that the Model's Pods run; undefined if its engine is not known. */
export function engineImage(
  model: Model,
  profile: ResolvedProfile | undefined,
  facts: Pick<OperatorFacts, 'registry' | 'version' | 'engines'>,
): string | undefined {
  const engine = resolveEngine(model.spec.engine, facts.engines ?? builtInEngines)
  return engine && fillIn(imageTemplate(model, engine, profile), placeholderValues(model, engine, 1, '', facts))
}

function imageTemplate({ spec }: Model, { image }: Engine, profile: ResolvedProfile | undefined): string {
  const images = profile?.images ?? {}
  return (Object.hasOwn(images, spec.engine) ? images[spec.engine] : undefined) ?? image
}

/** Plans ask only for Models whose engine is known. */
function engineOf({ spec }: Model, engines: EngineTable = builtInEngines): Engine {
  const engine = resolveEngine(spec.engine, engines)
  if (engine === undefined) throw new Error(`the engine ${spec.engine} is not known`)
  return engine
}

function placeholderValues(
  { metadata: { name } }: Model,
  { port }: Engine,
  cards: number,
  modelPath: string,
  { registry, version }: Pick<OperatorFacts, 'registry' | 'version'>,
): PlaceholderValues {
  return {
    modelPath: withoutVariables(modelPath),
    modelName: name,
    host: '$(POD_IP)',
    port: String(port),
    cards: String(cards),
    registry,
    version,
  }
}

function engineCommand(
  model: Model,
  engine: Engine,
  filled: PlaceholderValues,
  adapterArgs: readonly string[],
): Partial<Container> {
  const { command, args, env = {} } = engine
  const written = (words: readonly string[]) => words.map((word) => fillIn(word, filled))
  return {
    ...(command === undefined ? {} : { command: written(command) }),
    args: [...written(args), ...adapterArgs, ...(model.spec.args ?? [])],
    env: [
      { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      ...Object.entries(env).map(([name, value]) => ({ name, value: fillIn(value, filled) })),
    ],
  }
}

function probesOf({ healthPath, startupSeconds }: Engine): Partial<Container> {
  const health = { httpGet: { path: healthPath, port: enginePortName } }
  return {
    startupProbe: { ...health, periodSeconds: 1, timeoutSeconds: 2, failureThreshold: startupSeconds },
    readinessProbe: { ...health, periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 3 },
  }
}

function sharedMemory(size: string | undefined): Pick<Engine, 'volumes' | 'volumeMounts'> {
  if (size === undefined) return {}
  const limit = size === 'unlimited' ? {} : { sizeLimit: size }
  return {
    volumes: [{ name: 'shared-memory', emptyDir: { medium: 'Memory', ...limit } }],
    volumeMounts: [{ name: 'shared-memory', mountPath: '/dev/shm' }],
  }
}

function pullSecrets(...lists: ReadonlyArray<readonly string[] | undefined>): { name: string }[] {
  return [...new Set(lists.flatMap((names) => names ?? []))].map((name) => ({ name }))
}

export function specHash(...parts: readonly unknown[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(JSON.stringify(part))
  return hash.digest('hex').slice(0, 10)
}

export function newModelPod(
  model: Model,
  { spec, hash }: { readonly spec: Pod['spec']; readonly hash: string },
  about: {
    readonly suffix: string
    readonly failures: number
    readonly engineKey: string | undefined
    readonly engines?: EngineTable | undefined
  },
): NewPod {
  const { name, namespace } = model.metadata
  const { suffix, failures, engineKey } = about
  const engine = engineOf(model, about.engines)
  const capacity = engine.requestCapacity
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
    spec: engineKey === undefined ? spec : withEngineKey(spec, engine, name, engineKey),
  }
}

/** Tells an engine its key as it wants to be told: in a variable, or as an argument, which Kubernetes fills in. */
function withEngineKey(spec: Pod['spec'], { key }: Engine, model: string, id: string): Pod['spec'] {
  if (key === 'none') return spec
  const name = 'variable' in key ? key.variable : keyArgumentVariable
  const variable = engineKeyVariable(name, model, id)
  const args = 'flag' in key ? [key.flag, `$(${name})`] : []
  const containers = spec.containers.map((container) => ({
    ...container,
    args: [...(container.args ?? []), ...args],
    env: [...(container.env ?? []), variable],
  }))
  return { ...spec, containers }
}

export function ownerReferenceTo({ apiVersion, kind, metadata: { name, uid = '' } }: Model): OwnerReference {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}
