import type { RunningModel } from '../../platform/models/running/running-models.ts'
import type { Command } from '../command.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { gatewayAddressFlags } from '../connection/gateway-address.ts'
import { parseFlags } from '../flags.ts'
import { modelListing } from '../models/model-list.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { type Listing, print, printable, renderList } from '../output/print-output.ts'
import { timeFromNow, timeSince } from '../output/times.ts'
import { figuresOrNone, withModels } from './running-flags.ts'

const flags = [...clusterFlags, ...gatewayAddressFlags, outputFlag]

export const psCommand: Command = {
  name: 'ps',
  summary: 'List the models that run: their replicas and cards, since when, and until when if nobody asks.',
  example: 'sluice ps\nsluice ps -o json',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const { runningModels } = await import('../../platform/models/running/running-models.ts')
    const running = await withModels(parsed, async (models) => {
      const [all, pods, figures] = await Promise.all([models.list(), models.pods(), figuresOrNone(parsed)])
      return runningModels(all, pods, figures)
    })
    print(await renderList(running, runningListing(Date.now()), form))
    return 0
  },
}

export function runningListing(now: number): Listing<RunningModel> {
  return {
    resource: modelListing.resource,
    nameOf: ({ name }) => name,
    columns: [
      { title: 'NAME', text: ({ name }) => name },
      { title: 'STATE', text: ({ phase, loading }) => (loading === undefined ? phase : `${phase} ${loading}`) },
      { title: 'REPLICAS', text: ({ readyReplicas, replicas }) => `${readyReplicas}/${replicas}` },
      { title: 'CARDS', text: ({ cards }) => shownCards(cards) },
      { title: 'SINCE', text: ({ since }) => (since === undefined ? '' : timeSince(since, now)) },
      { title: 'IDLE UNTIL', text: ({ idleUntil }) => (idleUntil === undefined ? '' : timeFromNow(idleUntil, now)) },
      { title: 'REQUESTS', wide: true, text: ({ activeRequests }) => String(activeRequests ?? '') },
      { title: 'WAITING', wide: true, text: ({ waitingRequests }) => String(waitingRequests ?? '') },
      { title: 'PODS', wide: true, text: ({ pods }) => pods.join(',') },
      { title: 'MESSAGE', wide: true, text: ({ message }) => printable(message ?? '') },
    ],
    none: 'No model runs. `sluice wake MODEL` wakes one, and so does a request; `sluice model list` shows all.',
  }
}

/** `2 × nvidia.com/gpu-l40s` */
export function shownCards(cards: RunningModel['cards']): string {
  return Object.entries(cards)
    .map(([kind, count]) => `${count} × ${kind}`)
    .join(', ')
}
