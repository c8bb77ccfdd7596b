import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { apiVersionOf } from '../../resources/kind.ts'
import { modelKind } from '../../resources/model.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { CommandedCluster, type KubeconfigChoice } from '../commanded-cluster.ts'
import { type ImportSettings, type ModelManifest, convertModel } from './convert-model.ts'
import { type ImportNote, noteLine } from './import-note.ts'
import { kubeAiModelKind } from './kubeai-model.ts'
import { type FoundModels, findModels, readModels } from './read-documents.ts'

export type { ImportSettings, ModelManifest }
export { noteLine }

export interface ImportedModels {
  readonly models: readonly ModelManifest[]
  readonly notes: readonly ImportNote[]
  /** Whether a whole Model was left out. */
  readonly incomplete: boolean
}

/** Turns what a text says into our Models. */
export async function importText(text: string, source: string, settings: ImportSettings): Promise<ImportedModels> {
  return converted(await readModels(text, source), settings)
}

/** Turns the Models of KubeAI in a cluster into ours; those of one namespace, or of all. */
export async function importFromCluster(
  kubeconfig: string,
  namespace: string | undefined,
  settings: ImportSettings,
): Promise<ImportedModels> {
  const cluster = await CommandedCluster.connect({ path: kubeconfig })
  try {
    const { items } = await cluster.ask((client) => client.list(kubeAiModelKind, { namespace }))
    return converted(findModels(items, kubeconfig), settings)
  } finally {
    cluster.close()
  }
}

function converted({ models, notes }: FoundModels, settings: ImportSettings): ImportedModels {
  const imported = new Map<string, ModelManifest>()
  const all: ImportNote[] = [...notes]
  for (const source of models) {
    const { name, namespace } = source.metadata
    const conversion = convertModel(source, settings)
    if (conversion.model !== undefined && imported.has(name)) {
      const where = namespace === undefined ? '' : ` of the namespace ${namespace}`
      all.push({ about: name, fate: 'left out', reason: `the Model${where} has the name of another one.` })
      continue
    }
    all.push(...conversion.notes)
    if (conversion.model) imported.set(name, conversion.model)
  }
  return { models: [...imported.values()], notes: all, incomplete: hasMissing(all) }
}

function hasMissing(notes: readonly ImportNote[]): boolean {
  return notes.some(({ field, fate }) => field === undefined && fate === 'left out')
}

export async function manifestText(models: readonly ModelManifest[]): Promise<string> {
  const { stringify } = await import('yaml')
  return models.map((model) => stringify(model, { lineWidth: 0 })).join('---\n')
}

/** Creates the Models in a cluster. One that is there already stays as it is, and is noted. */
export async function applyModels(
  kubeconfig: KubeconfigChoice,
  models: readonly ModelManifest[],
): Promise<{ readonly created: readonly string[]; readonly notes: readonly ImportNote[] }> {
  const cluster = await CommandedCluster.connect(kubeconfig)
  const created: string[] = []
  const notes: ImportNote[] = []
  try {
    for (const model of models) {
      const { name } = model.metadata
      if (await cluster.ask((client) => createNew(client, model))) created.push(name)
      else notes.push({ about: name, fate: 'left out', reason: 'the cluster has a Model of that name; it stays.' })
    }
    return { created, notes }
  } finally {
    cluster.close()
  }
}

async function createNew(client: ClusterClient, model: ModelManifest): Promise<boolean> {
  try {
    await client.create(modelKind, { ...model, apiVersion: apiVersionOf(modelKind) })
    return true
  } catch (error) {
    if (isStatusError(error, 'AlreadyExists')) return false
    throw error
  }
}
