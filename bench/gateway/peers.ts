import type { ChildProcess } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { modelAddress, modelName } from './bench-models.ts'
import { firstLine, freePort, installed, listening, spawnPinned, stopChild, withChildren } from './pinned-process.ts'

/** A gateway that is measured, on one core. */
export interface Peer {
  readonly name: string
  readonly port: number
  /** Its processes, including those that they started. */
  pids(): readonly number[]
  /** Additional headers that clients must send. */
  readonly headers: string
  readonly path: string
  /**
   * Whether requests name their model in a header. nginx does not read bodies, so with many upstreams it needs that.
   */
  readonly asksForModelInHead: boolean
  stop(): Promise<void>
}

export interface PeerSetting {
  readonly upstreamPort: number
  readonly core: string
  readonly folder: string
}

type Start = (setting: PeerSetting) => Promise<Peer | undefined>

const here = import.meta.dirname
const chatPath = '/v1/chat/completions'

const starts: ReadonlyArray<readonly [string, Start]> = [
  ['sluice', (setting) => startSluice(setting)],
  ['nginx', (setting) => startNginx(setting)],
  ['haproxy', haproxy],
  [
    'node-socket',
    (setting) => nodePeer('node-socket', setting, [join(here, 'bare-proxy.ts'), String(setting.upstreamPort)]),
  ],
  ['node-least', nodeLeast],
  [
    'node-http',
    (setting) => nodePeer('node-http', setting, [join(here, 'http-proxy.ts'), String(setting.upstreamPort)]),
  ],
  ['kubeai', kubeai],
  ['llama-swap', llamaSwap],
  ['portkey', portkey],
  ['litellm', litellm],
]

/** Starts ours first, then every other gateway that is installed. */
export async function startPeers(setting: PeerSetting, only: readonly string[]): Promise<Peer[]> {
  const peers: Peer[] = []
  for (const [name, start] of starts) {
    if (only.length > 0 && !only.includes(name)) continue
    try {
      const peer = await start(setting)
      if (peer) peers.push(peer)
      else console.log(`${name} is not installed: left out`)
    } catch (error) {
      console.log(`${name} does not start: left out (${String(error)})`)
    }
  }
  return peers
}

/** Starts our gateway. Many models may all be at one address, or each at its own. */
export function startSluice(setting: PeerSetting, models = 1, addresses = 1): Promise<Peer> {
  const name = models === 1 ? 'sluice' : `${models} models, ${addresses === 1 ? 'one address' : 'each its own'}`
  const logFile = join(setting.folder, `sluice-${models}-${addresses}.log`)
  const program = join(here, 'sluice-gateway.ts')
  const args = [program, String(setting.upstreamPort), logFile, String(models), String(addresses)]
  const { options, env } = sluiceRunsWith()
  return nodePeer(name, setting, [...options, ...args], env)
}

/** The options and variables that bin/sluice gives to Node. */
function sluiceRunsWith(): { options: string[]; env: NodeJS.ProcessEnv } {
  const script = readFileSync(join(here, '../../bin/sluice'), 'utf8')
  const variables = /^export (.+)$/m.exec(script)?.[1]?.split(' ') ?? []
  const options = /^exec \S+ ((?:--\S+ )+)/m.exec(script)?.[1]?.trim().split(' ') ?? []
  if (variables.length === 0 || options.length === 0) throw new Error('bin/sluice is not understood')
  return { options, env: Object.fromEntries(variables.map((variable) => variable.split('='))) }
}

async function nodePeer(
  name: string,
  setting: PeerSetting,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Peer> {
  const child = spawnPinned(setting.core, process.execPath, args, { env })
  return peerOf(name, child, Number(await firstLine(child)))
}

/** A bound for ours: the least that a gateway on Node must do. */
function nodeLeast(setting: PeerSetting): Promise<Peer> {
  const logFile = join(setting.folder, 'node-least.log')
  return nodePeer('node-least', setting, [join(here, 'least-gateway.ts'), String(setting.upstreamPort), logFile])
}

/** Starts nginx. With many addresses it shows what the connections to them cost a gateway that does nothing else. */
export async function startNginx(setting: PeerSetting, addresses = 1): Promise<Peer | undefined> {
  if (!installed('nginx')) return undefined
  const port = await freePort()
  const name = addresses === 1 ? 'nginx' : `nginx, ${addresses} addresses`
  const prefix = join(setting.folder, `nginx-${addresses}`)
  mkdirSync(prefix, { recursive: true })
  const upstreams = Array.from({ length: addresses }, (_, index) => {
    const server = `server ${modelAddress(index)}:${setting.upstreamPort}`
    return `upstream ${modelName(index)} { ${server}; keepalive ${addresses === 1 ? 512 : 16}; keepalive_requests 1000000000; }`
  })
  const config = `
daemon off; worker_processes 1; pid ${prefix}/pid; error_log ${prefix}/error.log;
events { worker_connections 8192; }
http {
  access_log ${prefix}/access.log combined buffer=64k; keepalive_requests 1000000000;
  client_body_temp_path ${prefix}/body; proxy_temp_path ${prefix}/proxy; fastcgi_temp_path ${prefix}/f;
  uwsgi_temp_path ${prefix}/u; scgi_temp_path ${prefix}/s;
  ${upstreams.join('\n  ')}
  server { listen 127.0.0.1:${port} backlog=4096; location / {
    proxy_pass http://${addresses === 1 ? modelName(0) : '$http_x_bench_model'};
    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
  } }
}`
  writeFileSync(join(prefix, 'nginx.conf'), config)
  const args = ['-c', join(prefix, 'nginx.conf'), '-p', prefix]
  return startProgram(setting, { name, command: 'nginx', args, port, asksForModelInHead: addresses > 1 })
}

async function haproxy(setting: PeerSetting): Promise<Peer | undefined> {
  if (!installed('haproxy')) return undefined
  const port = await freePort()
  const file = join(setting.folder, 'haproxy.cfg')
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
  server one 127.0.0.1:${setting.upstreamPort}
`
  writeFileSync(file, config)
  return startProgram(setting, { name: 'haproxy', command: 'haproxy', args: ['-f', file, '-db'], port })
}

/**
 * llama-swap, built with Go from its repository (bench/README.md); LLAMA_SWAP names the program. The process that it
 * starts for a model does nothing.
 */
async function llamaSwap(setting: PeerSetting): Promise<Peer | undefined> {
  const command = process.env['LLAMA_SWAP']
  if (command === undefined) return undefined
  const port = await freePort()
  const file = join(setting.folder, 'llama-swap.yaml')
  const model = `{ cmd: sleep infinity, proxy: "http://127.0.0.1:${setting.upstreamPort}", checkEndpoint: none, concurrencyLimit: 100000 }`
  writeFileSync(file, `models:\n  bench: ${model}\n`)
  const args = ['-config', file, '-listen', `127.0.0.1:${port}`]
  return startProgram(setting, { name: 'llama-swap', command, args, port })
}

/** KubeAI's request path as a program; KUBEAI_PROXY names it. */
async function kubeai(setting: PeerSetting): Promise<Peer | undefined> {
  const command = process.env['KUBEAI_PROXY']
  if (command === undefined) return undefined
  const port = await freePort()
  const args = [String(setting.upstreamPort), String(port)]
  return startProgram(setting, { name: 'kubeai', command, args, port, path: `/openai${chatPath}` })
}

/** Portkey: `npm install @portkey-ai/gateway` somewhere, and set PORTKEY_GATEWAY to its start-server.js. */
async function portkey(setting: PeerSetting): Promise<Peer | undefined> {
  const program = process.env['PORTKEY_GATEWAY']
  if (program === undefined) return undefined
  const port = await freePort()
  const args = [program, `--port=${port}`, '--headless']
  const headers = `x-portkey-provider: openai\r\nx-portkey-custom-host: http://127.0.0.1:${setting.upstreamPort}/v1\r\nauthorization: Bearer none\r\n`
  const env = { PORT: String(port) }
  return startProgram(setting, { name: 'portkey', command: process.execPath, args, port, env, headers })
}

/** LiteLLM: `pip install litellm[proxy]`, and set LITELLM to the command. */
async function litellm(setting: PeerSetting): Promise<Peer | undefined> {
  const command = process.env['LITELLM'] ?? 'litellm'
  if (!installed(command)) return undefined
  const port = await freePort()
  const file = join(setting.folder, 'litellm.yaml')
  const model = `{ model: openai/bench, api_base: "http://127.0.0.1:${setting.upstreamPort}/v1", api_key: none }`
  writeFileSync(file, `model_list:\n  - model_name: bench\n    litellm_params: ${model}\n`)
  const args = ['--config', file, '--port', String(port), '--host', '127.0.0.1']
  const key = 'sk-bench-0123456789abcdef0123456789abcdef'
  const env = { LITELLM_LOG: 'ERROR', LITELLM_MASTER_KEY: key }
  const headers = `authorization: Bearer ${key}\r\n`
  return startProgram(setting, { name: 'litellm', command, args, port, env, headers, withinMs: 90_000 })
}

interface Program {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly port: number
  readonly env?: NodeJS.ProcessEnv
  readonly headers?: string
  readonly path?: string
  readonly asksForModelInHead?: boolean
  readonly withinMs?: number
}

async function startProgram({ core, folder }: PeerSetting, program: Program): Promise<Peer> {
  const { name, command, args, port, env, withinMs = 20_000 } = program
  const outputFile = join(folder, `${name}.log`)
  const child = spawnPinned(core, command, args, { ...(env && { env }), outputFile })
  try {
    await listening(child, port, withinMs)
  } catch (error) {
    throw new Error(`${name}: ${readFileSync(outputFile, 'utf8').trim().slice(-500)}`, { cause: error })
  }
  return peerOf(name, child, port, program)
}

function peerOf(
  name: string,
  child: ChildProcess,
  port: number,
  wanted: Pick<Program, 'headers' | 'path' | 'asksForModelInHead'> = {},
): Peer {
  const { headers = '', path = chatPath, asksForModelInHead = false } = wanted
  return {
    name,
    port,
    headers,
    path,
    asksForModelInHead,
    pids: () => withChildren(child.pid ?? 0),
    stop: () => stopChild(child),
  }
}
