import type { Model } from './model.ts'

/** What a name that requests may say stands for. */
export interface ServedName {
  /** The Model's own name. */
  readonly model: string
  /** The name that the model's engine knows. */
  readonly engineName: string
  readonly kind: 'model' | 'alias' | 'adapter'
}

/** A name that a Model wants to have and another one has. */
export interface TakenName {
  readonly name: string
  readonly by: string
}

type NamedModel = Pick<Model, 'metadata' | 'spec'>

/** As in KubeAI: adapters are asked for by the name of their Model and their own. */
export function adapterName(model: string, adapter: string): string {
  return `${model}_${adapter}`
}

/**
 * Which Model each name stands for. Every Model has its own name, whatever others call themselves; an alias that
 * several want is that of the oldest, so that adding a Model never takes a name away from one that is in use.
 */
export function servedNames(models: readonly NamedModel[]): ReadonlyMap<string, ServedName> {
  const names = new Map<string, ServedName>()
  for (const { metadata } of models) {
    names.set(metadata.name, { model: metadata.name, engineName: metadata.name, kind: 'model' })
  }
  for (const { metadata, spec } of models.toSorted(byAge)) {
    const model = metadata.name
    for (const { name } of spec.adapters ?? []) {
      const engineName = adapterName(model, name)
      if (!names.has(engineName)) names.set(engineName, { model, engineName, kind: 'adapter' })
    }
    for (const alias of spec.aliases ?? []) {
      if (!names.has(alias)) names.set(alias, { model, engineName: model, kind: 'alias' })
    }
  }
  return names
}

/** The names that a Model wants to have and others have. */
export function takenNames({ metadata, spec }: NamedModel, models: readonly NamedModel[]): readonly TakenName[] {
  const wanted = wantedNames({ metadata, spec })
  if (wanted.length === 0) return []
  const names = servedNames(models)
  return wanted.flatMap((name) => {
    const by = names.get(name)?.model
    return by === undefined || by === metadata.name ? [] : [{ name, by }]
  })
}

/** The names of a Model besides its own. */
export function wantedNames({ metadata, spec }: NamedModel): readonly string[] {
  return [...(spec.aliases ?? []), ...(spec.adapters ?? []).map(({ name }) => adapterName(metadata.name, name))]
}

function byAge({ metadata: one }: NamedModel, { metadata: other }: NamedModel): number {
  const [first, second] = [one.creationTimestamp ?? '', other.creationTimestamp ?? '']
  if (first !== second) return first < second ? -1 : 1
  return one.name < other.name ? -1 : 1
}
