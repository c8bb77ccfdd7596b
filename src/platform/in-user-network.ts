import { join, resolve } from 'node:path'
import { enterUserNetwork } from '../node/network/user/enter-user-network.ts'
import { type UserNetworkFacts, readUserNetwork, userNetworkVariable } from '../node/network/user/user-network.ts'
import { socketsToOpen } from './outside-listeners.ts'
import type { UpOptions } from './up-options.ts'

/**
 * Networks for Pods can be made by root, or by an ordinary user in a network of its own: then this program is started
 * anew in one, as the same process, and finds here what it is in, or why it could not be had. `undefined` for root, and
 * where no networks are wanted.
 */
export function inUserNetwork(options: UpOptions): UserNetworkFacts | undefined {
  const folder = join(resolve(options.data), 'node', 'user-network')
  const facts = readUserNetwork(process.env, folder)
  // What this program starts is not told.
  delete process.env[userNetworkVariable]
  if (facts || process.getuid?.() === 0 || options.podNetwork === 'loopback') return facts
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  return { reason: enterUserNetwork({ folder, listen: socketsToOpen(options), command }) }
}
