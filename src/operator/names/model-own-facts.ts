import type { ObjectCache } from '../../cluster/informer.ts'
import { parseModelUrl } from '../../resources/model-references.ts'
import type { Model } from '../../resources/model.ts'
import { takenNames } from '../../resources/served-names.ts'
import { builtInEngines } from '../engines/built-in-engines.ts'
import { type EngineTable, resolveEngine } from '../engines/engine.ts'
import type { FileState, ModelFiles, OperatorFacts } from '../operator-facts.ts'

/** What is known of a Model's files and names. */
export function modelOwnFacts(
  model: Model,
  about: {
    readonly files: ModelFiles
    readonly models: ObjectCache<Model>
    readonly engines?: EngineTable | undefined
  },
): Pick<OperatorFacts, 'files' | 'takenNames'> {
  return { files: allFiles(model, about), takenNames: takenNames(model, about.models.list()) }
}

/** Whether the Model's files are there, and those of its adapters; if not, what is missing first. */
function allFiles(
  { spec }: Model,
  { files, engines = builtInEngines }: { readonly files: ModelFiles; readonly engines?: EngineTable | undefined },
): FileState {
  const { claim, path } = parseModelUrl(spec.url)
  const own = files.check(claim, path, resolveEngine(spec.engine, engines)?.files)
  if (own.state !== 'present') return own
  const others = (spec.adapters ?? []).map(({ url }) => {
    const location = parseModelUrl(url)
    return files.check(location.claim, location.path, undefined)
  })
  return others.find(({ state }) => state === 'missing') ?? own
}
