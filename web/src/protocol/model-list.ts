import { isRecord, textOf } from './json-value.ts'

export type ModelPhase = 'Asleep' | 'Waking' | 'Ready' | 'Draining' | 'Failed' | 'Unknown'

export interface ModelEntry {
  id: string
  /** `Unknown` if the server lists models without their state. */
  phase: ModelPhase
  message: string
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
    models.push({ id, phase: phaseOf(state['phase']), message: textOf(state['message']).slice(0, 500) })
  }
  return models
}

function phaseOf(value: unknown): ModelPhase {
  return PHASES.find((phase) => phase === value) ?? 'Unknown'
}

export const PHASE_WORDS: Record<ModelPhase, string> = {
  Asleep: 'asleep',
  Waking: 'waking',
  Ready: 'ready',
  Draining: 'going to sleep',
  Failed: 'failed',
  Unknown: '',
}
