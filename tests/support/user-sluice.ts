import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findProgram } from '../../src/node/isolation/detect-isolation.ts'
import type { Endpoints } from '../../src/platform/up-options.ts'
import { until } from './sluice-process.ts'

const program = fileURLToPath(new URL('../../bin/sluice', import.meta.url))
/** Not `nobody`, because in a user namespace all files of other users seem to belong to that user. */
const ordinary = { uid: 12_345, gid: 12_345 }
const tools = ['ip', 'nft', 'nsenter', 'pasta', 'perl', 'setpriv', 'unshare']
const tunnel = '/dev/net/tun'

/** Why an ordinary user's Sluice cannot be tested here; undefined when it can. Only root can become another user. */
export const whyNotAsUser = findObstacle()

function findObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can become somebody else'
  const missing = tools.filter((name) => findProgram(name) === undefined)
  if (missing.length > 0) return `missing: ${missing.join(', ')}`
  if (!existsSync(tunnel)) return `there is no ${tunnel}`
  const readable = spawnSync(process.execPath, ['-e', 'require("fs").readFileSync(process.argv[1])', program], ordinary)
  if (readable.status !== 0) return 'others may not read this checkout'
  return spawnSync('unshare', ['-Ur', 'true'], ordinary).status === 0 ? undefined : 'users may have no namespaces'
}

export interface UserSluiceOptions {
  /** Whether the user may open a tunnel out of a network, as everybody may on most machines. */
  readonly tunnel: boolean
  /** Whether root has used `ip netns` on this machine before. */
  readonly netnsFolder?: boolean
}

/** Runs `sluice up` as a user who is not root. */
export class UserSluice {
  readonly data: string
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  output = ''

  private constructor(folder: string, options: UserSluiceOptions) {
    this.data = join(folder, 'data')
    chownSync(folder, ordinary.uid, ordinary.gid)
    const device = join(folder, options.tunnel ? 'tun' : 'closed-tun')
    if (!existsSync(device)) spawnSync('mknod', ['-m', options.tunnel ? '666' : '600', device, 'c', '10', '200'])
    const steps = [
      `mount --bind '${device}' ${tunnel}`,
      ...(options.netnsFolder === false ? ['mount -t tmpfs none /run'] : []),
      `cd '${folder}'`,
      'exec setpriv --reuid 12345 --regid 12345 --clear-groups "$@"',
    ]
    const ports = ['management', 'control-plane', 'gateway', 'exposure'].flatMap((name) => [`--${name}-port`, '0'])
    const command = [program, 'up', '--data', this.data, ...ports, '--no-demo-model']
    this.#child = spawn('unshare', ['--mount', 'sh', '-c', steps.join(' && '), 'sh', ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: folder },
      detached: true,
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    }
    this.#exited = new Promise((resolve) => this.#child.once('exit', () => resolve()))
  }

  /** `folder` belongs to the user and contains the data directory. */
  static async start(folder: string, options: UserSluiceOptions): Promise<UserSluice> {
    mkdirSync(folder, { recursive: true })
    const sluice = new UserSluice(folder, options)
    await until('the welcome', 120_000, () => {
      if (sluice.#child.exitCode !== null) throw new Error(`sluice up ended:\n${sluice.output}`)
      return sluice.output.includes('Ctrl-C stops everything')
    })
    return sluice
  }

  get endpoints(): Endpoints {
    return JSON.parse(readFileSync(join(this.data, 'endpoints.json'), 'utf8')) as Endpoints
  }

  get kubeconfig(): string {
    return join(this.data, 'kubeconfig')
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#child.kill(signal)
    await this.#exited
  }
}
