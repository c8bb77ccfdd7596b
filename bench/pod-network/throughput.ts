// The gateway in front of a server in a Pod's network, with the machine's rules in force, compared with the same server
// on loopback: requests per second and per second of the gateway's processor time, in alternating windows.
//   node bench/pod-network/throughput.ts [--seconds 3] [--rounds 7] [--connections 32]
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { NetworkStage } from '../../src/node/network/network-stage.fixture.ts'
import { shareCores, usableCores } from '../gateway/cores.ts'
import { loadByNode } from '../gateway/node-load.ts'
import type { Peer } from '../gateway/peers.ts'
import { firstLine, spawnPinned, stopChild } from '../gateway/pinned-process.ts'
import { median } from '../gateway/statistics.ts'
import { cpuSeconds } from '../process-use.ts'
import { RatioTable } from '../ratio-table.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '7' },
    connections: { type: 'string', default: '32' },
  },
})
const folder = join(import.meta.dirname, '../gateway')
const cores = shareCores(usableCores())
const children: ChildProcess[] = []
const stage = await NetworkStage.open()

async function program(core: string, words: readonly string[]): Promise<{ child: ChildProcess; port: number }> {
  const [command = '', ...args] = words
  const child = spawnPinned(core, command, args)
  children.push(child)
  return { child, port: Number(await firstLine(child)) }
}

/** Starts a separate gateway for each server, so that they share neither connections nor compiled code. */
async function gatewayTo(name: string, host: string, upstreamPort: number): Promise<Peer> {
  const words = [join(folder, 'sluice-gateway.ts'), String(upstreamPort), '/dev/null', '1', '1', host]
  const { child, port } = await program(cores.gateway, [process.execPath, ...words])
  const pids = () => [child.pid ?? 0]
  return {
    name,
    port,
    pids,
    headers: '',
    path: '/v1/chat/completions',
    asksForModelInHead: false,
    stop: async () => {},
  }
}

try {
  const pod = { name: 'server', ports: [], listens: [] }
  await stage.addPod(pod)
  await stage.start()
  const { address, namespace } = stage.agent('server')
  const stub = [process.execPath, join(folder, 'stub-upstream.ts'), '1']
  const onLoopback = await program(cores.stub, [...stub, '127.0.0.1'])
  const inPod = await program(cores.stub, ['nsenter', `--net=${namespace}`, ...stub, '0.0.0.0'])
  const contestants = [
    { peer: await gatewayTo('Pod', address, inPod.port), rates: [] as number[], perCpu: [] as number[] },
    { peer: await gatewayTo('loopback', '127.0.0.1', onLoopback.port), rates: [] as number[], perCpu: [] as number[] },
  ]
  const shape = { connections: Number(values.connections), seconds: Number(values.seconds) }
  for (let round = -1; round < Number(values.rounds); round += 1) {
    // The order alternates because the second finds a warmer machine.
    for (const { peer, rates, perCpu } of round % 2 === 0 ? contestants : contestants.toReversed()) {
      const cpu = () => peer.pids().reduce((sum, pid) => sum + cpuSeconds(pid), 0)
      const before = cpu()
      const { answers, errors, seconds } = await loadByNode(peer, shape)
      if (errors > 0) throw new Error(`${errors} requests by way of ${peer.name} were not answered`)
      // The first window only warms the compiler up.
      if (round < 0) continue
      rates.push(answers / seconds)
      perCpu.push(answers / (cpu() - before))
    }
  }
  const table = new RatioTable('median of the windows', 'higher')
  const row = (what: string, of: (one: (typeof contestants)[number]) => readonly number[]) =>
    table.row(
      what,
      contestants.map((one) => ({ name: one.peer.name, value: median(of(one)) })),
    )
  row('requests per second', ({ rates }) => rates)
  row("requests per second of the gateway's processor", ({ perCpu }) => perCpu)
  const ratios = contestants[0]?.rates.map((rate, index) => rate / (contestants[1]?.rates[index] ?? 0)) ?? []
  console.log(`ratio of the windows beside each other: ${median(ratios).toFixed(2)} (to be reached: 0.9)`)
} finally {
  for (const child of children) await stopChild(child)
  await stage.close()
}
