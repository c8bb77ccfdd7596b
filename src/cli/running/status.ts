import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { Endpoints } from '../../platform/up-options.ts'
import { isNodeReady } from '../../resources/node.ts'
import type { Command } from '../command.ts'
import { type ClusterPlace, clusterFlags, findCluster } from '../connection/cluster-place.ts'
import { nothingRunsIn } from '../connection/cluster-connection.ts'
import { readEndpoints } from '../connection/gateway-address.ts'
import { type ParsedFlags, parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { renderObject } from '../output/print-output.ts'
import { type ClusterHealth, attentionIn, healthLines } from './cluster-health.ts'
import { withModels } from './running-flags.ts'

const flags = [...clusterFlags, outputFlag]
const answerDeadlineMs = 10_000

export const statusCommand: Command = {
  name: 'status',
  summary:
    'Say whether it runs, where, how it is, and what needs attention; ends with 1 when something does, 4 when nothing runs.',
  example: 'sluice status\nsluice status -o json',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const form = outputForm(parsed)
    const place = findCluster(parsed)
    const endpoints = place.kind === 'data' ? readEndpoints(place.data) : undefined
    const health =
      place.kind === 'data' && !endpoints
        ? notRunning({ cluster: place.data, addresses: {}, health: {} }, nothingRunsIn(place).message)
        : await healthOf(parsed, place, endpoints)
    const listing = { resource: 'cluster', nameOf: ({ cluster }: ClusterHealth) => cluster }
    process.stdout.write(await renderObject(health, listing, form, healthLines(health)))
    if (!health.running) return 4
    const isWell = health.attention.length === 0 && Object.values(health.health).every((answer) => answer === 'ok')
    return isWell ? 0 : 1
  },
}

async function healthOf(
  parsed: Pick<ParsedFlags, 'text'>,
  place: ClusterPlace,
  endpoints: Endpoints | undefined,
): Promise<ClusterHealth> {
  const cluster =
    endpoints?.clusterId ?? (place.kind === 'kubeconfig' ? (place.context ?? place.path ?? 'kubectl') : '')
  const common = { cluster, pid: endpoints?.pid, addresses: addressesOf(endpoints), health: await answersOf(endpoints) }
  try {
    return await withModels(parsed, async (connection) => {
      const [models, pods, nodes] = await Promise.all([connection.list(), connection.pods(), connection.nodes()])
      return {
        ...common,
        running: true,
        nodes: { ready: nodes.filter(isNodeReady).length, all: nodes.length },
        models: { awake: models.filter(({ status }) => status?.phase === 'Ready').length, all: models.length },
        attention: attentionIn({ models, pods, nodes }),
      }
    })
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== 'cluster_unreachable') throw error
    return notRunning(common, error.message)
  }
}

type KnownWithoutIt = Pick<ClusterHealth, 'cluster' | 'pid' | 'addresses' | 'health'>

function notRunning(known: KnownWithoutIt, reason: string): ClusterHealth {
  const none = { nodes: { ready: 0, all: 0 }, models: { awake: 0, all: 0 } }
  return { ...known, ...none, running: false, attention: [reason] }
}

function addressesOf(endpoints: Endpoints | undefined): Record<string, string> {
  if (!endpoints) return {}
  const { gateway, gatewayExposed, controlPlane, management } = endpoints
  return {
    ...(gateway === null ? {} : { 'Chat page': `${gateway}/`, 'OpenAI API': `${gateway}/openai/v1` }),
    ...(gatewayExposed === null ? {} : { 'Exposed at': `${gatewayExposed}/` }),
    'Kubernetes API': controlPlane,
    Console: `${management}/`,
    'Management API': management,
  }
}

/** Whether those who should answer do: `ok`, or why not. */
async function answersOf(endpoints: Endpoints | undefined): Promise<Record<string, string>> {
  if (!endpoints) return {}
  const asked = { gateway: endpoints.gateway, management: endpoints.management }
  const answers = await Promise.all(
    Object.entries(asked).map(async ([name, url]) => (url === null ? [] : [[name, await answerOf(url)] as const])),
  )
  return Object.fromEntries(answers.flat())
}

async function answerOf(url: string): Promise<string> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(answerDeadlineMs) })
    await answer.arrayBuffer()
    return answer.ok ? 'ok' : `it answered ${answer.status}`
  } catch (error) {
    return `it does not answer at ${url}: ${errorMessage(error instanceof Error ? (error.cause ?? error) : error)}`
  }
}
