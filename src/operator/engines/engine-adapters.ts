import { parseModelUrl } from '../../resources/model-references.ts'
import type { Model } from '../../resources/model.ts'
import type { Container, Pod } from '../../resources/pod.ts'
import { adapterName } from '../../resources/served-names.ts'
import type { Engine } from './engine.ts'
import { withoutVariables } from './placeholders.ts'

/** Where the claims of adapters are mounted, each below this. */
const adaptersMount = '/mnt/adapters'

/** What of a Pod is about the Model's adapters. */
export interface AdapterParts {
  readonly args: readonly string[]
  readonly volumes: NonNullable<Pod['spec']['volumes']>
  readonly volumeMounts: NonNullable<Container['volumeMounts']>
}

/** Tells an engine its adapters as it wants to be told. */
export function adapterParts({ metadata, spec }: Model, { adapters: told }: Engine): AdapterParts {
  const adapters = spec.adapters ?? []
  if (adapters.length === 0 || !told) return { args: [], volumes: [], volumeMounts: [] }
  const claims = [...new Set(adapters.map(({ url }) => parseModelUrl(url).claim))]
  const volumeOf = (claim: string) => `adapters-${claims.indexOf(claim)}`
  const each = adapters.map(({ name, url }) => {
    const { claim, path } = parseModelUrl(url)
    const adapterPath = withoutVariables(`${adaptersMount}/${claim}/${path}`)
    const words = new Map([
      ['adapterName', adapterName(metadata.name, name)],
      ['adapterPath', adapterPath],
    ])
    return told.each.replaceAll(/\{(\w+)\}/g, (written, word: string) => words.get(word) ?? written)
  })
  return {
    args: [...told.args, ...each],
    volumes: claims.map((claim) => ({
      name: volumeOf(claim),
      persistentVolumeClaim: { claimName: claim, readOnly: true },
    })),
    volumeMounts: claims.map((claim) => ({
      name: volumeOf(claim),
      mountPath: `${adaptersMount}/${claim}`,
      readOnly: true,
    })),
  }
}
