import { rm } from 'node:fs/promises'
import { modelDirectory, modelPathInClaim } from '../../platform/models/model-storage.ts'
import { userDataClaim } from '../../resources/persistent-volume-claim.ts'
import type { Command, Flag } from '../command.ts'
import { clusterFlags, findCluster } from '../connection/cluster-place.ts'
import { parseFlags } from '../flags.ts'
import { onlyModel, withModels } from '../running/running-flags.ts'

const flags: readonly Flag[] = [
  { name: 'files', help: 'remove its files from the data directory, too, if no other Model uses them' },
  ...clusterFlags,
]

export const modelRmCommand: Command = {
  name: 'model rm',
  summary: 'Remove a Model: its Pods end, and requests for it are refused. Its files stay, unless --files is given.',
  example: 'sluice model rm my-model --files',
  positional: 'MODEL',
  completes: 'model',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const name = onlyModel(parsed)
    const place = findCluster(parsed)
    const { url, others } = await withModels(parsed, async (models) => {
      const model = await models.find(name)
      await models.delete(model)
      const left = (await models.list()).filter(({ metadata }) => metadata.name !== name)
      return { url: model.spec.url, others: left.filter(({ spec }) => spec.url === model.spec.url) }
    })
    console.log(`${name} is removed.`)
    if (!parsed.isSet('files')) return 0
    const [user] = others
    const isOurs = place.kind === 'data' && url === `pvc://${userDataClaim}/${modelPathInClaim(name)}`
    if (!isOurs || user) {
      console.error(
        `Its files stay: ${user ? `${user.metadata.name} uses them` : `${url} is not what this command made`}.`,
      )
      return 1
    }
    await rm(modelDirectory(place.data, name), { recursive: true, force: true })
    console.log(`Its files (${url}) are removed.`)
    return 0
  },
}
