// A program for tests, to be run on a machine of its own: opens a network for Pods, puts one into it, and says what it
// has.
import { randomUUID } from 'node:crypto'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { openNetwork } from './open-network.ts'

const [folder = ''] = process.argv.slice(2)
const options = { nodeId: randomUUID(), folder, clock: systemClock, log: silentLogger, spares: 0 }
const network = await openNetwork({ ...options, choice: 'namespaces' })
await network.adopt(new Map())
const place = await network.place('pod', [])
console.log(JSON.stringify({ place, message: network.facts.message }))
network.release('pod')
await network.close()
