import { join, resolve } from 'node:path'
import { enterUserNetwork } from '../node/network/user/enter-user-network.ts'
import { type UserNetworkFacts, readUserNetwork, userNetworkVariable } from '../node/network/user/user-network.ts'
import { socketsToOpen } from './outside-listeners.ts'
import type { UpOptions } from './up-options.ts'

/**
 * Pod networks can be made by root, or by an ordinary user in a user network namespace. In the second case this program
 * executes itself again inside one, as the same process, and returns here with what it found there, or with the reason
 * why there is none. Returns `undefined` for root, and if no Pod networks are wanted.
 */
export function inUserNetwork(options: UpOptions): UserNetworkFacts | undefined {
  const folder = join(resolve(options.data), 'node', 'user-network')
  const facts = readUserNetwork(process.env, folder)
  // Programs that this one starts must not inherit the variable.
  delete process.env[userNetworkVariable]
  if (facts || process.getuid?.() === 0 || options.podNetwork === 'loopback') return facts
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  return { reason: enterUserNetwork({ folder, listen: socketsToOpen(options), command }) }
}
