import type { Model } from '../../resources/model.ts'
import { builtInEngines } from '../engines/built-in-engines.ts'
import { type EngineGroup, type EngineTable, resolveEngine } from '../engines/engine.ts'

/** What the members of the Model's groups are told in addition; undefined if its engine runs on one node only. */
export function groupSettings({ spec }: Model, engines: EngineTable = builtInEngines): EngineGroup | undefined {
  const group = resolveEngine(spec.engine, engines)?.group ?? {}
  return group === 'none' ? undefined : group
}
