import { SluiceError } from '../../foundation/errors.ts'
import type { Command } from '../command.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { withConnection } from '../connection/cluster-connection.ts'
import { apiKeyOf, gatewayAddressFlags, gatewayIfKnown } from '../connection/gateway-address.ts'
import { type ParsedFlags, parseFlags } from '../flags.ts'
import type { GatewayDoor } from './gateway-door.ts'

const flags = [...clusterFlags, ...gatewayAddressFlags]

export const chatCommand: Command = {
  name: 'chat',
  summary: 'Talk to a model here in the terminal; with a prompt, or in a pipe, it answers once.',
  example:
    "sluice chat smollm2\nsluice chat smollm2 'Why is the sky blue?'\necho 'Why is the sky blue?' | sluice chat smollm2",
  positional: 'MODEL [PROMPT...]',
  completes: 'model',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    const [model, ...prompt] = parsed.positionals
    if (model === undefined) {
      throw new SluiceError('invalid_flag', { flag: 'MODEL', reason: 'name one; `sluice model list` shows them.' })
    }
    return chatWith(parsed, model, prompt.join(' '))
  },
}

/** Talks to a model: at a terminal until the person leaves, else once. */
export async function chatWith(parsed: ParsedFlags, model: string, prompt: string): Promise<number> {
  const { doorAt, doorThrough } = await import('./gateway-door.ts')
  const [gateway, apiKey] = [gatewayIfKnown(parsed), apiKeyOf(parsed)]
  if (gateway !== undefined) return chatAt(doorAt(gateway, apiKey), model, prompt)
  const { GatewayInCluster } = await import('../../platform/models/running/gateway-in-cluster.ts')
  return withConnection(parsed, GatewayInCluster.connect, (cluster) =>
    chatAt(doorThrough(cluster, apiKey), model, prompt),
  )
}

async function chatAt(door: GatewayDoor, model: string, prompt: string): Promise<number> {
  const { ChatClient } = await import('./chat-client.ts')
  const client = new ChatClient(door)
  await client.stateOf(model)
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY
  if (isTerminal && prompt === '') return (await import('./talk.ts')).talk(client, model)
  const { askOnce, pipedText } = await import('./ask-once.ts')
  const piped = process.stdin.isTTY || prompt !== '' ? '' : await pipedText(process.stdin)
  return askOnce(client, model, prompt === '' ? piped : prompt)
}
