import { resourceProfilePattern } from '../../resources/model-references.ts'
import type { NoteTaker } from './import-note.ts'

const field = 'spec.resourceProfile'
const fallback = 'default:1'
/** `nvidia-gpu-l4`, as KubeAI's chart names its profiles. */
const cardPattern = /^([a-z0-9]+)-gpu-([a-z0-9][-a-z0-9]*)$/

/**
 * Our name of a KubeAI profile with its number of cards; undefined where the Model names none. `named` are those that
 * the user told.
 */
export function convertProfile(
  profile: string | null | undefined,
  named: ReadonlyMap<string, string>,
  notes: NoteTaker,
): string | undefined {
  if (!profile) return undefined
  const [name = '', count = '1'] = profile.split(':')
  const chosen = named.get(name) ?? cardOf(name)
  if (chosen !== undefined) {
    const converted = `${chosen}:${count}`
    if (!resourceProfilePattern.test(converted)) return refuse(notes, `${converted} is no profile of ours`)
    const meaning = 'the profiles of the chart say which nodes have it'
    if (converted !== profile) notes.changed(field, `${profile} is ${converted} here; ${meaning}.`)
    return converted
  }
  if (/^cpu\b/.test(name)) {
    notes.changed(field, `${profile} asks for no card, but each Model holds at least one here; it is ${fallback}.`)
    return fallback
  }
  return refuse(notes, `nothing tells which card ${name} is; say --profiles ${name}=VENDOR.com/gpu-MODEL`)
}

function cardOf(name: string): string | undefined {
  const [, vendor, model] = cardPattern.exec(name) ?? []
  return vendor === undefined || model === undefined ? undefined : `${vendor}.com/gpu-${model}`
}

function refuse(notes: NoteTaker, why: string): string {
  notes.changed(field, `${why}. It is ${fallback}.`)
  return fallback
}
