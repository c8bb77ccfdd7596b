import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { modelName } from './bench-models.ts'
import { requestBytes } from './chat-request.ts'
import { installed, spawnPinned, stopChild } from './pinned-process.ts'
import type { Peer } from './peers.ts'
import type { Answered, LoadShape } from './node-load.ts'

export const wrkIsInstalled = (): boolean => installed('wrk')

/** The same as `loadByNode` for a fraction of its processor time, so that the load generator is not the limit. */
export async function loadByWrk(peer: Peer, shape: LoadShape, cores: string, folder: string): Promise<Answered> {
  const script = join(folder, 'load.lua')
  writeFileSync(script, luaScript(peer, shape.models ?? 1))
  const threads = Math.min(4, cores.split(',').length)
  const options = [`-t${threads}`, `-c${shape.connections}`, `-d${shape.seconds}s`, '--timeout', '30s', '-s', script]
  const child = spawnPinned(cores, 'wrk', [...options, `http://127.0.0.1:${peer.port}/`])
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = once(child, 'close').then(() => true)
  if (!(await Promise.race([ended, delay((shape.seconds + 40) * 1000, false, { ref: false })]))) await stopChild(child)
  const counted = /^answered (\d+) (\d+) (\d+)$/m.exec(output)?.slice(1).map(Number)
  if (counted === undefined) throw new Error(`wrk said nothing that is understood: ${output.slice(0, 500)}`)
  const [answers = 0, microseconds = 0, errors = 0] = counted
  return { answers, errors, seconds: microseconds / 1e6 }
}

/**
 * A script with which each connection takes the next request in turn. For these characters, Lua strings have the same
 * escapes as JSON.
 */
function luaScript(peer: Peer, models: number): string {
  const requests = Array.from({ length: models }, (_, index) =>
    JSON.stringify(requestBytes(peer, { model: modelName(index) }).toString('latin1')),
  )
  return `
local requests = {
${requests.join(',\n')}
}
local turn, count = 0, #requests
request = function()
  turn = turn % count + 1
  return requests[turn]
end
done = function(summary)
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format("answered %d %d %d", summary.requests - errors.status, summary.duration, errors.status + lost))
end
`
}
