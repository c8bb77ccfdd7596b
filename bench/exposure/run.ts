// The edge of exposed services: requests per second of processor time over TLS that is kept open, beside the bare relay
// without TLS; what Node's TLS costs a server that does nothing else; and what HTTP/2 of Node would take.
//   node bench/exposure/run.ts [--seconds 5] [--rounds 3] [--bare] [--http2]
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { makeCertificate } from '../../src/exposure/certificates/made-certificate.fixture.ts'
import { shareCores, usableCores } from '../gateway/cores.ts'
import { firstLine, spawnPinned, stopChild } from '../gateway/pinned-process.ts'
import { cpuSeconds } from '../process-use.ts'
import { RatioTable } from '../ratio-table.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    bare: { type: 'boolean', default: false },
    http2: { type: 'boolean', default: false },
  },
})
const wanted = 0.7
/** The load asks for it by name, so it must be one that this machine finds. */
const host = hostname().toLowerCase()
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-exposure-'))
const cores = shareCores(usableCores())
const { key, cert } = await makeCertificate([host])
const files = [join(folder, 'key'), join(folder, 'cert')] as const
writeFileSync(files[0], key)
writeFileSync(files[1], cert)
const pinned = (core: string, program: string, ...args: readonly string[]) =>
  spawnPinned(core, process.execPath, [join(import.meta.dirname, program), ...args])
const stub = pinned(cores.stub, '../gateway/stub-upstream.ts')
const upstreamPort = await firstLine(stub)
const edge = (kind: string) => pinned(cores.gateway, 'edge-program.ts', kind, upstreamPort, host, ...files)
const bare = (kind: string) => pinned(cores.gateway, 'bare-program.ts', kind, ...files)
const contestants = [
  { name: 'edge, TLS', scheme: 'https', child: edge('tls') },
  { name: 'relay, plain', scheme: 'http', child: edge('relay') },
  { name: 'edge, plain', scheme: 'http', child: edge('plain') },
  ...(values.bare
    ? [
        { name: 'bare, TLS', scheme: 'https', child: bare('tls') },
        { name: 'bare, plain', scheme: 'http', child: bare('plain') },
      ]
    : []),
]
const bridge = values.http2 ? pinned(cores.gateway, 'http2-program.ts', upstreamPort, ...files) : undefined
try {
  const ports = await Promise.all(contestants.map(({ child }) => firstLine(child)))
  const table = new RatioTable('requests per second of processor time', 'higher')
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const rates: Array<{ name: string; value: number }> = []
    for (const [index, { name, scheme, child }] of contestants.entries()) {
      const before = cpuSeconds(child.pid ?? 0)
      const answers = await load(`${scheme}://${host}:${ports[index]}/`)
      rates.push({ name, value: answers / (cpuSeconds(child.pid ?? 0) - before) })
    }
    // The first is until everything is compiled.
    if (round === 0) continue
    const [ours = { value: 0 }, theirs = { value: 1 }] = rates
    table.row(`round ${round}`, rates, ours.value / theirs.value < wanted ? `below ${wanted}` : '')
  }
  if (bridge) await compareHttp2(Number(await firstLine(bridge)), bridge.pid ?? 0)
} finally {
  await Promise.all([...contestants.map(({ child }) => child), stub, ...(bridge ? [bridge] : [])].map(stopChild))
  rmSync(folder, { recursive: true, force: true })
}

async function load(url: string): Promise<number> {
  const args = ['-c', cores.load, 'wrk', '-t1', '-c32', `-d${values.seconds}s`, '-s', script(), url]
  const { stdout } = await promisify(execFile)('taskset', args)
  const [, answers = '0', refused = '1'] = /^answered (\d+) (\d+)$/m.exec(stdout) ?? []
  if (refused !== '0') throw new Error(`${refused} were not answered with 200`)
  return Number(answers)
}

function script(): string {
  const path = join(folder, 'load.lua')
  writeFileSync(path, 'done = function(s) print(string.format("answered %d %d", s.requests, s.errors.status)) end\n')
  return path
}

/** One connection with 32 requests at a time, which is how HTTP/2 is used. */
async function compareHttp2(port: number, pid: number): Promise<void> {
  const session = connect(`https://${host}:${port}`, { ca: cert })
  const table = new RatioTable('requests per second of processor time', 'higher')
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const before = cpuSeconds(pid)
    const until = performance.now() + Number(values.seconds) * 1000
    const one = async (): Promise<number> => {
      let answers = 0
      for (; performance.now() < until; answers += 1) {
        const stream = session.request({ ':path': '/' })
        for await (const _chunk of stream) continue
      }
      return answers
    }
    const counts = await Promise.all(Array.from({ length: 32 }, one))
    const rate = counts.reduce((sum, count) => sum + count, 0) / (cpuSeconds(pid) - before)
    if (round > 0) table.row(`HTTP/2 by Node, round ${round}`, [{ name: 'bridge', value: rate }])
  }
  session.close()
}
