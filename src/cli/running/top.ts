import { measuredUse } from '../../platform/models/running/measured-use.ts'
import type { ModelFigures } from '../../platform/models/running/model-figures.ts'
import type { RunningModel } from '../../platform/models/running/running-models.ts'
import type { PodMetrics } from '../../resources/resource-metrics.ts'
import type { Command, Flag } from '../command.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { apiKeyOf, gatewayAddressFlags, gatewayIfKnown } from '../connection/gateway-address.ts'
import { parseFlags } from '../flags.ts'
import { modelListing } from '../models/model-list.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { type Listing, print, renderList } from '../output/print-output.ts'
import { shownCards } from './ps.ts'
import { untilInterrupted, withModels } from './running-flags.ts'

const flags: readonly Flag[] = [
  ...clusterFlags,
  ...gatewayAddressFlags,
  { name: 'interval', value: 'SECONDS', fallback: '2', help: 'over how long rates are measured' },
  { name: 'follow', short: 'f', help: 'show it anew after each interval, until Ctrl-C' },
  outputFlag,
]

/** What a model does now. */
export interface BusyModel {
  readonly name: string
  readonly phase: string
  /** What the gateway tells is missing where it cannot be asked. */
  readonly activeRequests?: number | undefined
  readonly waitingRequests?: number | undefined
  readonly requestsPerSecond?: number | undefined
  readonly tokensPerSecond?: number | undefined
  /** What its Pods use; missing where nobody measures it. */
  readonly cores?: number | undefined
  readonly memoryBytes?: number | undefined
  readonly cards: Readonly<Record<string, number>>
}

export const topCommand: Command = {
  name: 'top',
  summary:
    'Show how busy models are: requests, waiting ones, tokens a second, and the cards, cores and memory that they use.',
  example: 'sluice top\nsluice top -f --interval 5',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const seconds = parsed.number('interval', { min: 0.1, max: 3_600 }) ?? 2
    const [gateway, apiKey] = [gatewayIfKnown(parsed), apiKeyOf(parsed)]
    const signal = untilInterrupted()
    const [{ fetchFigures }, { runningModels }, { systemClock }] = await Promise.all([
      import('../../platform/models/running/model-figures.ts'),
      import('../../platform/models/running/running-models.ts'),
      import('../../foundation/clock.ts'),
    ])
    return withModels(parsed, async (models) => {
      const ask = async () => (gateway === undefined ? undefined : fetchFigures(gateway, apiKey))
      let before = await ask()
      do {
        await systemClock.sleep(seconds * 1000, signal).catch(() => {})
        if (signal.aborted) return 130
        const [all, pods, measured, figures] = await Promise.all([
          models.list(),
          models.pods(),
          models.measured(),
          ask(),
        ])
        const running = runningModels(all, pods, figures ?? new Map())
        const busy = busyModels(running, { before, now: figures, seconds, measured })
        const isScreen = parsed.isSet('follow') && form === undefined && process.stdout.isTTY
        if (isScreen) process.stdout.write('\u001b[H\u001b[2J')
        print(await renderList(busy, busyListing, form))
        before = figures
      } while (parsed.isSet('follow'))
      return 0
    })
  },
}

type AllFigures = ReadonlyMap<string, ModelFigures>

interface Looks {
  /** What the gateway counted at the last look, and at this one; undefined where it cannot be asked. */
  readonly before: AllFigures | undefined
  readonly now: AllFigures | undefined
  /** Between them. */
  readonly seconds: number
  readonly measured: readonly PodMetrics[]
}

/** The busiest first. */
export function busyModels(running: readonly RunningModel[], { before, now, seconds, measured }: Looks): BusyModel[] {
  const busy = running.map(({ name, phase, cards, pods }) => ({
    name,
    phase,
    ...(before && now && traffic(before.get(name), now.get(name), seconds)),
    ...measuredUse(pods, measured),
    cards,
  }))
  const requests = ({ activeRequests = 0, waitingRequests = 0 }: BusyModel) => activeRequests + waitingRequests
  return busy.toSorted((a: BusyModel, b: BusyModel) => requests(b) - requests(a))
}

function traffic(before: ModelFigures | undefined, now: ModelFigures | undefined, seconds: number) {
  const rate = (of: 'requests' | 'tokens') => {
    const grown = (now?.[of] ?? 0) - (before?.[of] ?? 0)
    // A gateway that was restarted counts from zero again.
    return Math.round((Math.max(0, grown) / seconds) * 10) / 10
  }
  return {
    activeRequests: now?.active ?? 0,
    waitingRequests: now?.waiting ?? 0,
    requestsPerSecond: rate('requests'),
    tokensPerSecond: rate('tokens'),
  }
}

function shown(value: number | undefined, text: (known: number) => string = String): string {
  return value === undefined ? '-' : text(value)
}

export const busyListing: Listing<BusyModel> = {
  resource: modelListing.resource,
  nameOf: ({ name }) => name,
  columns: [
    { title: 'NAME', text: ({ name }) => name },
    { title: 'STATE', text: ({ phase }) => phase },
    { title: 'ACTIVE', text: ({ activeRequests }) => shown(activeRequests) },
    { title: 'WAITING', text: ({ waitingRequests }) => shown(waitingRequests) },
    { title: 'REQUESTS/S', text: ({ requestsPerSecond }) => shown(requestsPerSecond, (rate) => rate.toFixed(1)) },
    { title: 'TOKENS/S', text: ({ tokensPerSecond }) => shown(tokensPerSecond, (rate) => rate.toFixed(1)) },
    { title: 'CPU', text: ({ cores }) => shown(cores, (some) => `${Math.ceil(some * 1000)}m`) },
    { title: 'MEMORY', text: ({ memoryBytes }) => shown(memoryBytes, (some) => `${Math.ceil(some / 2 ** 20)}Mi`) },
    { title: 'CARDS', text: ({ cards }) => shownCards(cards) },
  ],
  none: 'No model runs. `sluice wake MODEL` wakes one, and so does a request.',
}
