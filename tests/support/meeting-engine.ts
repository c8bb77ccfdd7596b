import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelStage } from './model-stage.ts'

/**
 * The program of an engine that runs in a group: the workers connect to the leader by the name that they were given,
 * and the leader says that it is healthy only while all ranks are connected. It ends when it loses one of them, as
 * engines do whose members compute together; so do workers that lose their leader. With `--rank-that-fails N` that rank
 * ends before it meets anybody. Alone, it is healthy at once.
 */
const program = `
  import { createServer as createHttpServer } from 'node:http'
  import { connect, createServer } from 'node:net'
  const argument = (name) => process.argv[process.argv.indexOf(name) + 1]
  const rank = Number(process.env.SLUICE_GROUP_RANK ?? 0)
  const size = Number(process.env.SLUICE_GROUP_SIZE ?? 1)
  const leader = process.env.SLUICE_GROUP_LEADER
  const port = Number(argument('--master-port'))
  if (argument('--rank-that-fails') === String(rank)) process.exit(3)
  const lost = (who) => {
    console.error('rank ' + rank + ' lost ' + who)
    process.exit(1)
  }
  const facts = { rank, size, leader, cards: process.env.CUDA_VISIBLE_DEVICES, args: process.argv.slice(1) }
  const met = new Map([[0, facts]])
  const lead = () => {
    if (size > 1) createServer((socket) => {
      let text = ''
      socket.on('data', (piece) => {
        text += piece
        if (!text.endsWith('\\n')) return
        const worker = JSON.parse(text)
        met.set(worker.rank, worker)
        socket.on('close', () => lost('rank ' + worker.rank))
      })
      socket.on('error', () => {})
    }).listen(port)
    createHttpServer((request, response) => {
      const all = met.size === size
      request.resume()
      request.on('end', () => {
        if (request.method === 'GET') return response.writeHead(all ? 200 : 503).end('{}')
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ choices: [], members: [...met.values()] }))
      })
    }).listen(Number(argument('--port')), argument('--host'))
  }
  // The leader may not have an address yet, or not listen yet.
  const join = (tries) => {
    let connected = false
    const socket = connect({ host: leader, port }, () => {
      connected = true
      socket.write(JSON.stringify(facts) + '\\n')
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      if (connected || tries === 0) return lost('its leader')
      setTimeout(() => join(tries - 1), 100)
    })
  }
  if (rank === 0) lead()
  else join(600)
`

/** Lets the program stand in for vLLM. To be called before the stage starts. */
export function useMeetingEngine(stage: ModelStage, profiles: object): void {
  mkdirSync(join(stage.folder, 'models/large'), { recursive: true })
  writeFileSync(join(stage.folder, 'models/large/config.json'), '{}')
  const command = [process.execPath, '--input-type=module', '-e', program, '--']
  const images = { 'registry.local-1.localhost/sluice/vllm': { command } }
  writeFileSync(join(stage.data, 'config.yaml'), JSON.stringify({ images, profiles }))
  stage.addFlags('--config', join(stage.data, 'config.yaml'))
}
