import type { KeyValueStorage } from '../conversation/conversation-storage.ts'
import { isRecord, numberOf, parseJson, textOf } from '../protocol/json-value.ts'

export interface Settings {
  systemPrompt: string
  /** Null for the model's own default. */
  temperature: number | null
  /** The model that was selected last. */
  model: string
}

export const MAX_SYSTEM_PROMPT_CHARACTERS = 20_000
const KEY = 'sluice.settings'

export function loadSettings(storage: KeyValueStorage): Settings {
  const value = parseJson(storage.getItem(KEY) ?? '')
  if (!isRecord(value)) return { systemPrompt: '', temperature: null, model: '' }
  const temperature = numberOf(value['temperature'])
  return {
    systemPrompt: textOf(value['systemPrompt']).slice(0, MAX_SYSTEM_PROMPT_CHARACTERS),
    temperature: temperature === undefined ? null : Math.min(2, Math.max(0, temperature)),
    model: textOf(value['model']),
  }
}

export function saveSettings(storage: KeyValueStorage, settings: Settings): void {
  try {
    storage.setItem(KEY, JSON.stringify(settings))
  } catch {
    // The storage is full: the settings last until the page is closed.
  }
}
