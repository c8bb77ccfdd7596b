import { modelPathInClaim } from '../models/model-storage.ts'
import type { NoteTaker } from './import-note.ts'

interface KubeAiUrl {
  readonly scheme: string
  /** What follows the scheme, such as `organization/model`. */
  readonly place: string
  readonly query: URLSearchParams
}

const pattern = /^([a-z0-9]+):\/\/([^?]+)(\?.*)?$/

/**
 * Where our Model has its files: KubeAI fetches them when a Pod starts, ours are in a claim before. What is in a claim
 * already stays where it is.
 */
export function convertUrl(
  { name, url: source }: { readonly name: string; readonly url: string },
  about: { readonly claim: string; readonly needsGguf: boolean; readonly field: string },
  notes: NoteTaker,
): string {
  const { claim, needsGguf, field } = about
  const { scheme, place, query } = parse(source)
  const ollamaName = query.get('model')
  if (scheme === 'pvc' && ollamaName === null) {
    const [inClaim = '', ...path] = place.split('/').filter((segment) => segment !== '')
    if (path.length > 0) return `pvc://${inClaim}/${path.join('/')}`
    const url = `pvc://${inClaim}/${modelPathInClaim(name)}`
    notes.changed(field, `files are in a folder of a claim here; move them to ${url}.`)
    return url
  }
  const target = scheme === 'pvc' ? (place.split('/')[0] ?? claim) : claim
  const folder = scheme === 'ollama' || scheme === 'pvc' ? fileName(ollamaName ?? place) : place.replace(/\/+$/, '')
  const url = `pvc://${target}/${modelPathInClaim(folder)}`
  notes.changed(field, `files are in a claim before the Model starts; ${howTo(scheme, place, url, needsGguf)}.`)
  return url
}

function parse(url: string): KubeAiUrl {
  const [, scheme = '', place = url, query = ''] = pattern.exec(url) ?? []
  return { scheme, place, query: new URLSearchParams(query) }
}

/** `qwen2:0.5b` names a tag, which is no good in a path. */
function fileName(model: string): string {
  return model.replaceAll(':', '-')
}

function howTo(scheme: string, place: string, url: string, needsGguf: boolean): string {
  if (needsGguf) return `put its GGUF file into the folder ${url}`
  if (scheme === 'hf') return `put them at ${url}, such as with "hf download ${place} --local-dir …"`
  return `copy them from ${scheme}://${place} to ${url}`
}
