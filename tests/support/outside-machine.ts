import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { NetworkNames } from '../../src/node/network/network-names.ts'

/** The number of the test's process is in the name, by which the next run knows what nobody uses any more. */
const namePattern = /^sluice-outside-(\d+)-[0-9a-f]{6}$/

const hasIpv6 = existsSync('/proc/sys/net/ipv6')

/** A neighbouring machine, which exists only in a namespace of the test's own. Takes root. */
export class OutsideMachine {
  /** The address of this machine on the link between both, and of that one. */
  readonly near: string
  readonly far: string
  readonly near6: string
  readonly far6: string
  readonly #name: string
  readonly #children: ChildProcess[] = []

  private constructor(name: string, link: string, link6: string) {
    this.#name = name
    this.near = `${link}.1`
    this.far = `${link}.2`
    this.near6 = `${link6}::1`
    this.far6 = `${link6}::2`
  }

  static open(): OutsideMachine {
    removeLeftovers()
    const id = randomBytes(3).toString('hex')
    const link6 = `2001:db8:${randomInt(1, 2 ** 16).toString(16)}:${randomInt(1, 2 ** 16).toString(16)}`
    const outside = new OutsideMachine(`sluice-outside-${process.pid}-${id}`, freeLink(), link6)
    const [name, device] = [outside.#name, `so${id}`]
    for (const line of [
      `netns add ${name}`,
      `link add ${device} type veth peer name far netns ${name}`,
      `addr add ${outside.near}/24 dev ${device}`,
      ...(hasIpv6 ? [`addr add ${outside.near6}/64 dev ${device} nodad`] : []),
      `link set ${device} up`,
      `-n ${name} addr add ${outside.far}/24 dev far`,
      ...(hasIpv6 ? [`-n ${name} addr add ${outside.far6}/64 dev far nodad`] : []),
      `-n ${name} link set lo up`,
      `-n ${name} link set far up`,
    ])
      execFileSync('ip', line.split(' '))
    return outside
  }

  /** Runs a program of Node.js there until it is closed; resolves with the first thing it says. */
  async run(program: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const words = ['netns', 'exec', this.#name, process.execPath, '-e', program]
    const child = spawn('ip', words, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    this.#children.push(child)
    return new Promise((resolve, reject) => {
      child.stdout.setEncoding('utf8').once('data', resolve)
      child.once('exit', (code) => reject(new Error(`the program outside ended with ${code} and said nothing`)))
    })
  }

  close(): void {
    for (const child of this.#children) child.kill('SIGKILL')
    // The link goes with its end there.
    spawnSync('ip', ['netns', 'del', this.#name])
  }
}

/** Three numbers of an address: a network that this machine has no route to. */
function freeLink(): string {
  const routes = execFileSync('ip', ['-4', 'route', 'show', 'table', 'all'], { encoding: 'utf8' })
  for (let tries = 0; tries < 1000; tries += 1) {
    const link = `198.18.${randomInt(256)}`
    if (!routes.includes(`${link}.`)) return link
  }
  throw new Error('there are routes to every network that was drawn')
}

/** What tests have left that were killed. */
function removeLeftovers(): void {
  for (const name of namespaces()) {
    const pid = Number(namePattern.exec(name)?.[1] ?? Number.NaN)
    if (Number.isInteger(pid) && !isThere(pid)) spawnSync('ip', ['netns', 'del', name])
  }
}

function namespaces(): string[] {
  try {
    return readdirSync(NetworkNames.namespaceFolder)
  } catch {
    return []
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
