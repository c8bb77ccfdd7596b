import { type Model, modelKind } from '../../resources/model.ts'
import type { Command } from '../command.ts'
import { withConnection } from '../connection/cluster-connection.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { type Listing, print, printable, renderList, shownResource } from '../output/print-output.ts'

const flags = [...clusterFlags, outputFlag]

export const modelListCommand: Command = {
  name: 'model list',
  summary: 'List the models: which are awake, how far those are that load, and why one is not ready.',
  example: 'sluice model list\nsluice model list -o json',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const { ClusterModels } = await import('../../platform/models/cluster-models.ts')
    const models = await withConnection(parsed, ClusterModels.connect, (all) => all.list())
    print(await renderList(models, modelListing, form))
    return 0
  },
}

export const modelListing: Listing<Model> = {
  resource: shownResource(modelKind),
  nameOf: ({ metadata }) => metadata.name,
  columns: [
    { title: 'NAME', text: ({ metadata }) => metadata.name },
    { title: 'PHASE', text: ({ status }) => status?.phase ?? 'Asleep' },
    { title: 'LOADING', text: ({ status }) => status?.loading?.progress ?? '' },
    { title: 'READY', text: ({ status }) => `${status?.readyReplicas ?? 0}/${status?.replicas ?? 0}` },
    { title: 'ENGINE', text: ({ spec }) => spec.engine },
    { title: 'PROFILE', wide: true, text: ({ spec }) => spec.resourceProfile },
    { title: 'REPLICAS', wide: true, text: ({ spec }) => `${spec.minReplicas}-${spec.maxReplicas}` },
    { title: 'URL', wide: true, text: ({ spec }) => spec.url },
    { title: 'MESSAGE', text: ({ status }) => printable(status?.message ?? '') },
  ],
  none: 'There are no models. `sluice run smollm2` fetches a small one, and `sluice model add` makes one of a file.',
}
