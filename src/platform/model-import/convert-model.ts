import { fieldErrorsOf } from '../../resources/field-error.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { modelFeatures, modelKind } from '../../resources/model.ts'
import { convertArguments } from './convert-arguments.ts'
import { convertProfile } from './convert-profile.ts'
import { convertReplicas } from './convert-replicas.ts'
import { convertUrl } from './convert-url.ts'
import { type ImportNote, NoteTaker } from './import-note.ts'
import { type KubeAiModel, type KubeAiSpec, kubeAiFields } from './kubeai-model.ts'

export interface ImportSettings {
  /** The claim for files that KubeAI would fetch. */
  readonly claim: string
  /** For Models without a limit. */
  readonly maxReplicas: number
  /** Our name of a KubeAI profile. */
  readonly profiles: ReadonlyMap<string, string>
  /** Our name of a KubeAI engine. */
  readonly engines: ReadonlyMap<string, string>
}

/** One of our Models, as it is written to a file. */
export interface ModelManifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string; readonly [field: string]: unknown }
  readonly spec: Readonly<Record<string, unknown>>
}

export interface Conversion {
  /** Undefined when there is no counterpart; the note says why. */
  readonly model: ModelManifest | undefined
  readonly notes: readonly ImportNote[]
}

/** Ollama runs llama.cpp, which is our built-in engine. */
const usualEngines: ReadonlyMap<string, string> = new Map([['OLlama', 'LlamaCpp']])
const builtInEngine = 'LlamaCpp'
/** What needs no entry in the chart's values. */
const knownEngines: ReadonlySet<string> = new Set([builtInEngine, 'VLLM'])

/** Turns a Model of KubeAI into one of ours, and tells what had to change or to stay behind. */
export function convertModel(source: KubeAiModel, settings: ImportSettings): Conversion {
  const { metadata, spec } = source
  const notes = new NoteTaker(metadata.name)
  const engine = convertEngine(spec.engine, settings, notes)
  const isBuiltIn = engine === builtInEngine
  const { claim } = settings
  const location = { name: metadata.name, url: spec.url }
  const url = convertUrl(location, { claim, needsGguf: isBuiltIn, field: 'spec.url' }, notes)
  const hasOtherNamespace = metadata.namespace !== undefined && metadata.namespace !== gatewayNamespace
  if (spec.url.startsWith('pvc://') && hasOtherNamespace) {
    notes.changed('metadata.namespace', `the claim of ${url} has to be in the namespace ${gatewayNamespace}.`)
  }
  const resourceProfile = convertProfile(spec.resourceProfile, settings.profiles, notes)
  const replicas = convertReplicas(spec, settings.maxReplicas, notes)
  const args = argumentsOf(spec, isBuiltIn, notes)
  const adapters = convertAdapters(source, { claim, isBuiltIn }, notes)
  noteFieldsWithoutCounterpart(spec, notes)
  const model = {
    apiVersion: 'sluice.dev/v1',
    kind: modelKind.kind,
    metadata: { name: metadata.name, namespace: gatewayNamespace, ...ownMetadata(metadata) },
    spec: {
      features: convertFeatures(spec.features, notes),
      ...(spec.owner ? { owner: spec.owner } : {}),
      url,
      engine,
      ...(resourceProfile === undefined ? {} : { resourceProfile }),
      ...replicas,
      ...(spec.targetRequests == null ? {} : { targetRequests: spec.targetRequests }),
      ...(spec.scaleDownDelaySeconds == null ? {} : { scaleDownDelaySeconds: spec.scaleDownDelaySeconds }),
      ...(adapters.length === 0 ? {} : { adapters }),
      ...(args.length === 0 ? {} : { args }),
    },
  }
  const parsed = modelKind.schema.safeParse(model)
  if (parsed.success) return { model, notes: notes.notes }
  const faults = fieldErrorsOf(parsed.error, model).map(({ field, message }) => `${field}: ${message}`)
  // Of one that is not there, nobody wants to know what was changed.
  return { model: undefined, notes: [{ about: metadata.name, fate: 'left out', reason: `${faults.join('; ')}.` }] }
}

function convertEngine(engine: string, { engines }: ImportSettings, notes: NoteTaker): string {
  const converted = engines.get(engine) ?? usualEngines.get(engine) ?? engine
  if (converted === builtInEngine && engine !== builtInEngine) {
    notes.changed('spec.engine', `${engine} is the built-in ${builtInEngine} here.`)
  } else if (converted !== engine) notes.changed('spec.engine', `${engine} is ${converted} here.`)
  if (!knownEngines.has(converted)) {
    notes.changed('spec.engine', `the engines of the chart have to say what ${converted} is.`)
  }
  return converted
}

/** Those that we know; none of them limits which paths a Model is asked at. */
function convertFeatures(features: readonly string[] | null | undefined, notes: NoteTaker): readonly string[] {
  const isKnown = (feature: string) => modelFeatures.some((known) => known === feature)
  const unknown = (features ?? []).filter((feature) => !isKnown(feature))
  if (unknown.length > 0) {
    notes.leftOut('spec.features', `${unknown.join(', ')}: there is no such feature here, and no path needs one.`)
  }
  const known = (features ?? []).filter(isKnown)
  return known.length > 0 ? known : modelFeatures.slice(0, 1)
}

function argumentsOf({ args, engine }: KubeAiSpec, isBuiltIn: boolean, notes: NoteTaker): string[] {
  if (!args || args.length === 0) return []
  if (!isBuiltIn || engine === builtInEngine) return convertArguments(args, notes)
  notes.leftOut('spec.args', `${builtInEngine} does not have those of ${engine}: ${args.join(' ')}`)
  return []
}

/** They are asked for by the same names as with KubeAI. */
function convertAdapters(
  { metadata, spec }: KubeAiModel,
  { claim, isBuiltIn }: { readonly claim: string; readonly isBuiltIn: boolean },
  notes: NoteTaker,
): ReadonlyArray<{ readonly name: string; readonly url: string }> {
  const adapters = spec.adapters ?? []
  if (adapters.length > 0 && isBuiltIn) {
    const names = adapters.map(({ name }) => name).join(', ')
    notes.leftOut('spec.adapters', `${builtInEngine} loads none: ${names}. Each merged into its model can be a Model.`)
    return []
  }
  return adapters.map(({ name, url }) => {
    const about = { claim, needsGguf: false, field: 'spec.adapters' }
    return { name, url: convertUrl({ name: `${metadata.name}-${name}`, url }, about, notes) }
  })
}

function noteFieldsWithoutCounterpart(spec: KubeAiSpec, notes: NoteTaker): void {
  const { env, envFrom, files, image, cacheProfile, priorityClassName, loadBalancing } = spec
  const variables = Object.keys(env ?? {})
  if (variables.length > 0) notes.leftOut('spec.env', `a Model has no variables here: ${variables.join(', ')}.`)
  if (envFrom && envFrom.length > 0) notes.leftOut('spec.envFrom', 'a Model has no variables here.')
  if (files && files.length > 0) {
    const paths = files.map(({ path }) => path).join(', ')
    notes.leftOut('spec.files', `put them beside the model's files: ${paths}.`)
  }
  if (image) notes.leftOut('spec.image', `the image belongs to the engine here, not to the Model: ${image}.`)
  if (cacheProfile) notes.leftOut('spec.cacheProfile', `nothing is fetched, so nothing is cached: ${cacheProfile}.`)
  if (priorityClassName) notes.leftOut('spec.priorityClassName', `there is none of a Model here: ${priorityClassName}.`)
  if (loadBalancing?.strategy === 'PrefixHash') {
    notes.leftOut('spec.loadBalancing', 'the gateway sends prompts that begin alike to the same Pod by itself.')
  }
  for (const field of Object.keys(spec)) {
    if (!kubeAiFields.has(field)) notes.leftOut(`spec.${field}`, 'it is not known here.')
  }
}

/** Labels and annotations that people gave it, without those of programs that looked after the other one. */
function ownMetadata({ labels, annotations }: KubeAiModel['metadata']): Record<string, Record<string, string>> {
  const isOwn = ([key, value]: readonly [string, string]) =>
    !/^(?:kubectl\.kubernetes\.io|meta\.helm\.sh|(?:[a-z.]+\.)?kubeai\.org)\//.test(key) &&
    !/^model-pod-(?:ip|port)$/.test(key) &&
    !key.startsWith('helm.sh/') &&
    !(key === 'app.kubernetes.io/managed-by' && value === 'Helm')
  const own = (map: Record<string, string> | undefined) => Object.fromEntries(Object.entries(map ?? {}).filter(isOwn))
  const [ownLabels, ownAnnotations] = [own(labels), own(annotations)]
  return {
    ...(Object.keys(ownLabels).length > 0 && { labels: ownLabels }),
    ...(Object.keys(ownAnnotations).length > 0 && { annotations: ownAnnotations }),
  }
}
