import { isRecord, textOf } from './json-value.ts'
import { countOf, type Loading, parseLoading } from './loading.ts'

export type ModelPhase = 'Asleep' | 'Waking' | 'Ready' | 'Draining' | 'Failed' | 'Unknown'

export type ModelFeature = 'TextGeneration' | 'SpeechToText' | 'Vision'

export interface ModelEntry {
  id: string
  /** `Unknown` if the server lists models without their state. */
  phase: ModelPhase
  message: string
  /** One word for what is the matter, such as `Loading`; empty if the server says none. */
  reason: string
  /** What it can do; empty if the server does not say. */
  features: readonly string[]
  /** How far it is, while it loads and the server knows. */
  loading?: Loading | undefined
  /** How long its last load took. */
  lastLoadSeconds?: number | undefined
}

const MAX_MODELS = 1_000
const PHASES: readonly ModelPhase[] = ['Asleep', 'Waking', 'Ready', 'Draining', 'Failed']

/** Reads OpenAI's model list with Sluice's extra field; undefined when the body is not a list. */
export function parseModelList(body: unknown): ModelEntry[] | undefined {
  if (!isRecord(body) || !Array.isArray(body['data'])) return undefined
  const models: ModelEntry[] = []
  const seen = new Set<string>()
  for (const item of body['data'].slice(0, MAX_MODELS)) {
    if (!isRecord(item)) continue
    const id = textOf(item['id'])
    if (id === '' || seen.has(id)) continue
    seen.add(id)
    const state = isRecord(item['sluice']) ? item['sluice'] : {}
    models.push({
      id,
      phase: parsePhase(state['phase']),
      message: textOf(state['message']).slice(0, 500),
      reason: textOf(state['reason']),
      features: Array.isArray(state['features']) ? state['features'].map(textOf) : [],
      loading: parseLoading(state['loading']),
      lastLoadSeconds: countOf(state['lastLoadSeconds']),
    })
  }
  return models
}

function parsePhase(value: unknown): ModelPhase {
  return PHASES.find((phase) => phase === value) ?? 'Unknown'
}

/** With these a sleeping model cannot wake until somebody changes something. */
const HOPELESS_REASONS: ReadonlySet<string> = new Set([
  'EngineUnknown',
  'EngineUnavailable',
  'AdaptersUnsupported',
  'ProfileUnknown',
  'NoSuchCard',
  'WrongNamespace',
  'OptionUnknown',
  'FilesMissing',
  'FilesUnusable',
  'PodRefused',
  'StartGivenUp',
])

/** Whether asking the model is known to be in vain. */
export function isBroken({ phase, reason }: Pick<ModelEntry, 'phase' | 'reason'>): boolean {
  return phase === 'Failed' || (phase === 'Asleep' && HOPELESS_REASONS.has(reason))
}

/** A server that does not say what its models can do is believed to have models that chat. */
export function canDo({ features }: Pick<ModelEntry, 'features'>, feature: ModelFeature): boolean {
  return features.length === 0 ? feature === 'TextGeneration' : features.includes(feature)
}

/** The phase as people are told it: what cannot wake has failed, whatever it does meanwhile. */
export function phaseOf(model: ModelEntry): ModelPhase {
  return isBroken(model) ? 'Failed' : model.phase
}

export const PHASE_WORDS: Record<ModelPhase, string> = {
  Asleep: 'asleep',
  Waking: 'waking',
  Ready: 'ready',
  Draining: 'going to sleep',
  Failed: 'failed',
  Unknown: '',
}
