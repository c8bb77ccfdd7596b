import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'

/** A gateway under measurement, held to the first core. */
export interface Peer {
  readonly name: string
  readonly port: number
  /** Its processes, with those they started. */
  pids(): readonly number[]
  /** What its clients have to send besides. */
  readonly headers: string
  readonly path: string
  stop(): Promise<void>
}

const here = import.meta.dirname
const core = '0'
const chatPath = '/v1/chat/completions'

/** Ours first, then everything that is installed. */
export async function startPeers(upstreamPort: number, folder: string, only: readonly string[]): Promise<Peer[]> {
  const starts: ReadonlyArray<readonly [string, () => Promise<Peer | undefined>]> = [
    ['sluice', () => nodePeer('sluice', 'sluice-gateway.ts', upstreamPort, join(folder, 'sluice.log'))],
    ['nginx', () => nginx(upstreamPort, folder)],
    ['haproxy', () => haproxy(upstreamPort, folder)],
    ['node-socket', () => nodePeer('node-socket', 'bare-proxy.ts', upstreamPort)],
    ['node-http', () => nodePeer('node-http', 'http-proxy.ts', upstreamPort)],
    ['portkey', () => portkey(upstreamPort)],
    ['litellm', () => litellm(upstreamPort, folder)],
  ]
  const peers: Peer[] = []
  for (const [name, start] of starts) {
    if (only.length > 0 && !only.includes(name)) continue
    try {
      const peer = await start()
      if (peer) peers.push(peer)
      else console.log(`${name} is not installed: left out`)
    } catch (error) {
      console.log(`${name} does not start: left out (${String(error)})`)
    }
  }
  return peers
}

export function spawnPinned(cpu: string, command: string, args: readonly string[], env = {}): ChildProcess {
  return spawn('taskset', ['-c', cpu, command, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
}

export async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('no output')
  const [line] = await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(30_000) })
  return String(line)
}

export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const overdue = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await exited
  clearTimeout(overdue)
}

async function nodePeer(name: string, program: string, upstreamPort: number, ...more: string[]): Promise<Peer> {
  const options = (process.env['SLUICE_NODE_OPTIONS'] ?? '').split(' ').filter(Boolean)
  const args = [...options, join(here, program), String(upstreamPort), ...more]
  const child = spawnPinned(core, process.execPath, args)
  const port = Number(await firstLine(child))
  return peerOf(name, child, port, '', chatPath)
}

async function nginx(upstreamPort: number, folder: string): Promise<Peer | undefined> {
  if (!installed('nginx')) return undefined
  const port = await freePort()
  const prefix = join(folder, 'nginx')
  mkdirSync(prefix, { recursive: true })
  const config = `
daemon off; worker_processes 1; pid ${prefix}/pid; error_log ${prefix}/error.log;
events { worker_connections 8192; }
http {
  access_log ${prefix}/access.log combined buffer=64k; keepalive_requests 1000000000;
  client_body_temp_path ${prefix}/body; proxy_temp_path ${prefix}/proxy; fastcgi_temp_path ${prefix}/f;
  uwsgi_temp_path ${prefix}/u; scgi_temp_path ${prefix}/s;
  upstream model { server 127.0.0.1:${upstreamPort}; keepalive 512; keepalive_requests 1000000000; }
  server { listen 127.0.0.1:${port} backlog=4096; location / {
    proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
  } }
}`
  writeFileSync(join(prefix, 'nginx.conf'), config)
  return started('nginx', spawnPinned(core, 'nginx', ['-c', join(prefix, 'nginx.conf'), '-p', prefix]), port)
}

async function haproxy(upstreamPort: number, folder: string): Promise<Peer | undefined> {
  if (!installed('haproxy')) return undefined
  const port = await freePort()
  const file = join(folder, 'haproxy.cfg')
  const config = `
global
  nbthread 1
  maxconn 8192
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 600s
frontend in
  bind 127.0.0.1:${port}
  default_backend model
backend model
  http-reuse always
  server one 127.0.0.1:${upstreamPort}
`
  writeFileSync(file, config)
  return started('haproxy', spawnPinned(core, 'haproxy', ['-f', file, '-db']), port)
}

/** `npm install @portkey-ai/gateway` somewhere, and PORTKEY_GATEWAY names its start-server.js. */
async function portkey(upstreamPort: number): Promise<Peer | undefined> {
  const program = process.env['PORTKEY_GATEWAY']
  if (program === undefined) return undefined
  const port = await freePort()
  const child = spawnPinned(core, process.execPath, [program, `--port=${port}`, '--headless'], { PORT: String(port) })
  child.stdout?.resume()
  const headers = `x-portkey-provider: openai\r\nx-portkey-custom-host: http://127.0.0.1:${upstreamPort}/v1\r\nauthorization: Bearer none\r\n`
  return started('portkey', child, port, headers)
}

/** `pip install litellm[proxy]`, and LITELLM names the command. */
async function litellm(upstreamPort: number, folder: string): Promise<Peer | undefined> {
  const program = process.env['LITELLM'] ?? 'litellm'
  if (!installed(program)) return undefined
  const port = await freePort()
  const file = join(folder, 'litellm.yaml')
  const model = `{ model: openai/bench, api_base: "http://127.0.0.1:${upstreamPort}/v1", api_key: none }`
  writeFileSync(file, `model_list:\n  - model_name: bench\n    litellm_params: ${model}\n`)
  const args = ['--config', file, '--port', String(port), '--host', '127.0.0.1']
  const key = 'sk-bench-0123456789abcdef0123456789abcdef'
  const child = spawnPinned(core, program, args, { LITELLM_LOG: 'ERROR', LITELLM_MASTER_KEY: key })
  child.stdout?.resume()
  return started('litellm', child, port, `authorization: Bearer ${key}\r\n`, 90_000)
}

async function started(
  name: string,
  child: ChildProcess,
  port: number,
  headers = '',
  withinMs = 20_000,
): Promise<Peer> {
  const deadline = performance.now() + withinMs
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`)
    if (performance.now() > deadline) throw new Error(`${name} does not listen`)
    await delay(50)
  }
  return peerOf(name, child, port, headers, chatPath)
}

function peerOf(name: string, child: ChildProcess, port: number, headers: string, path: string): Peer {
  return { name, port, headers, path, pids: () => withChildren(child.pid ?? 0), stop: () => stopChild(child) }
}

function withChildren(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
    return [pid, ...children.flatMap(withChildren)]
  } catch {
    return [pid]
  }
}

function installed(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v "$0"`, command]).status === 0
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}
