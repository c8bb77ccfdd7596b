import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { SluiceError } from '../../foundation/errors.ts'
import { modelPathInClaim } from '../../platform/models/model-storage.ts'
import type { Model } from '../../resources/model.ts'
import { userDataClaim } from '../../resources/persistent-volume-claim.ts'
import type { ClusterPlace } from '../connection/cluster-place.ts'
import { checkedModelName, fetchModel, nameOfSource } from './fetch-model.ts'
import { nameOfPath, placeModel } from './place-model.ts'

/** Where a model comes from, as somebody types it. */
export type ModelSource =
  | { readonly kind: 'claim'; readonly url: string }
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'fetched'; readonly address: string }

/** `pvc://…`, a file or folder of this machine, or what `sluice model pull` takes. */
export function readSource(text: string): ModelSource {
  if (text.startsWith('pvc://')) return { kind: 'claim', url: text }
  const isPath = /^(?:\.{0,2}\/|~)/.test(text) || /\.gguf$/i.test(text) || text === '.' || text === '..'
  if (!/^(?:hf:|https?:)/.test(text) && (isPath || existsSync(text))) return { kind: 'path', path: resolve(text) }
  return { kind: 'fetched', address: text }
}

/** The name that a model of this source gets unless somebody says otherwise. */
export async function usualName(source: ModelSource): Promise<string> {
  if (source.kind === 'claim') return checkedModelName(nameOfPath(source.url), 'NAME')
  const name = source.kind === 'path' ? nameOfPath(source.path) : await nameOfSource(source.address)
  return checkedModelName(name, 'NAME')
}

export interface BringOptions {
  readonly source: ModelSource
  readonly name: string
  readonly place: ClusterPlace
  /** The program that is to serve it. */
  readonly engine: string
  readonly signal: AbortSignal
}

/** Puts a model's files where its cluster finds them. Returns the `spec.url` of a Model for them. */
export async function bringModel({ source, name, place, engine, signal }: BringOptions): Promise<string> {
  if (source.kind === 'claim') return source.url
  if (place.kind !== 'data') {
    const reason =
      'files can only be put into the data directory of a `sluice up`. Put them into a claim of the cluster, and name them as pvc://CLAIM/PATH.'
    throw new SluiceError('invalid_flag', { flag: 'SOURCE', reason })
  }
  const { data } = place
  if (source.kind === 'path')
    await placeModel({ path: source.path, data, name, needsGguf: engine === usualEngine, signal })
  else await fetchModel({ source: source.address, name, data, signal })
  return `pvc://${userDataClaim}/${modelPathInClaim(name)}`
}

export const usualEngine = 'LlamaCpp'

/** What a model gets that somebody adds in one line: the built-in engine, asleep until it is asked. */
export function usualSpec(url: string): Partial<Model['spec']> {
  return { url, engine: usualEngine, minReplicas: 0, maxReplicas: 1, targetRequests: 8 }
}
