// The management API with 1,000 clusters registered: details of all of them in turn, per second of processor time.
//   node bench/management.ts [--clusters 1000] [--seconds 5] [--rounds 3]
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { shareCores, usableCores } from './gateway/cores.ts'
import { firstLine, spawnPinned, stopChild } from './gateway/pinned-process.ts'
import { cpuSeconds } from './process-use.ts'
import { RatioTable } from './ratio-table.ts'

const { values } = parseArgs({
  options: {
    clusters: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
  },
})
const wanted = 5_000
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-management-'))
const cores = shareCores(usableCores())
const pinned = (program: string, ...args: readonly string[]) =>
  spawnPinned(cores.gateway, process.execPath, [join(import.meta.dirname, program), ...args])
const server = pinned('management-program.ts', values.clusters, join(folder, 'log'))
const bare = pinned('bare-http.ts', '400')
try {
  const [port = '', ...authorization] = (await firstLine(server)).split(' ')
  const barePort = await firstLine(bare)
  const script = join(folder, 'load.lua')
  writeFileSync(script, luaScript(authorization.join(' ')))
  const table = new RatioTable('answers per second of processor time', 'higher')
  // Until everything is compiled; on a busy machine that takes its time.
  await load(script, port, '10')
  await load(script, barePort, '3')
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    const what = `cluster detail, ${values.clusters} clusters, round ${round}`
    const rate = await perCpuSecond(server.pid ?? 0, script, port)
    const limit = await perCpuSecond(bare.pid ?? 0, script, barePort)
    const contestants = [
      { name: 'management', value: rate },
      { name: 'bare http', value: limit },
    ]
    table.row(what, contestants, rate < wanted ? `below ${wanted}` : '')
  }
} finally {
  await Promise.all([stopChild(server), stopChild(bare)])
  rmSync(folder, { recursive: true, force: true })
}

async function perCpuSecond(pid: number, script: string, port: string): Promise<number> {
  const before = cpuSeconds(pid)
  const answers = await load(script, port, values.seconds)
  return answers / (cpuSeconds(pid) - before)
}

async function load(script: string, port: string, seconds: string): Promise<number> {
  const args = ['-c', cores.load, 'wrk', '-t1', '-c16', `-d${seconds}s`, '-s', script, `http://127.0.0.1:${port}/`]
  const { stdout } = await promisify(execFile)('taskset', args)
  const [, answers = '0', refused = '1'] = /^answered (\d+) (\d+)$/m.exec(stdout) ?? []
  if (refused !== '0') throw new Error(`${refused} were not answered with 200`)
  return Number(answers)
}

function luaScript(authorization: string): string {
  return `
local turn = 0
wrk.headers["Authorization"] = ${JSON.stringify(authorization)}
request = function()
  turn = (turn + 1) % ${values.clusters}
  return wrk.format("GET", "/api/vks/v1/vks" .. turn)
end
done = function(summary)
  print(string.format("answered %d %d", summary.requests, summary.errors.status))
end
`
}
