import { engineKeyId } from '../../resources/engine-keys.ts'
import type { Model } from '../../resources/model.ts'
import type { Pod } from '../../resources/pod.ts'
import type { Engine } from '../engines/engine.ts'

/** The keys of a Model's engines by ID, as its Secret holds them (base64). */
export type EngineKeys = Readonly<Record<string, string>>

/** How many keys are kept beyond those in use: a very recent Pod may not be visible yet. */
const keptUnused = 8
const idForm = /^key-([1-9]\d{0,14})$/

/** The ID of the key that Pods get now. */
export function newestKey(keys: EngineKeys): string | undefined {
  const newest = numbersOf(keys)[0]
  return newest === undefined ? undefined : idOf(newest)
}

/**
 * What the Secret should hold; undefined if it does already. The newest key is one that no Pod has had: it exists
 * before Pods are wanted, so that a wake waits for no write; Pods created together share it. Keys of Pods that are gone
 * are removed.
 */
export function planEngineKeys(keys: EngineKeys, pods: readonly Pod[], newKey: () => string): EngineKeys | undefined {
  const used = new Set(pods.map(engineKeyId))
  const numbers = numbersOf(keys)
  const newest = numbers[0] ?? 0
  const isFresh = newest > 0 && !used.has(idOf(newest))
  const kept = numbers.filter((number, index) => index < keptUnused || used.has(idOf(number))).map(idOf)
  if (isFresh && kept.length === Object.keys(keys).length) return undefined
  const ids = isFresh ? kept : [idOf(newest + 1), ...kept]
  return Object.fromEntries(ids.map((id) => [id, keys[id] ?? Buffer.from(newKey()).toString('base64')]))
}

/**
 * Whether its engine takes a key from us. Not one that checks none, and not one that the Model's own arguments give a
 * key: its clients send that one.
 */
export function takesKey({ spec }: Model, { key }: Pick<Engine, 'key'>): boolean {
  if (key === 'none') return false
  const flags = ['--api-key', '--api-key-file', ...('flag' in key ? [key.flag] : [])]
  return !(spec.args ?? []).some((argument) => flags.includes(argument.split('=', 1)[0] ?? ''))
}

function idOf(number: number): string {
  return `key-${number}`
}

/** Newest first; anything that is not one of our IDs is ignored. */
function numbersOf(keys: EngineKeys): readonly number[] {
  return Object.keys(keys)
    .map((id) => Number(idForm.exec(id)?.[1] ?? 0))
    .filter((number) => number > 0)
    .sort((one, other) => other - one)
}
