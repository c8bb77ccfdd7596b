import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorMessage } from '../../../foundation/errors.ts'
import { findProgram } from '../../isolation/detect-isolation.ts'
import { outsideRoutesFile } from './user-network.ts'

export interface EnterOptions {
  /** Where what concerns the network is kept: it is the same one at the next start, while Pods are in it. */
  readonly folder: string
  /** Sockets to be opened before, so that clients of the machine's own network find this program. */
  readonly listen: ReadonlyArray<{
    readonly name: string
    readonly host: string
    readonly port: number
    /** How many descriptors of it: whoever stops listening closes one. */
    readonly count: number
  }>
  /** What this process is to run there: itself. */
  readonly command: readonly string[]
}

const script = fileURLToPath(new URL('user-network.pl', import.meta.url))
const routesDeadlineMs = 5_000

/**
 * Starts this program anew in a network that its user may change, as the same process, and does not return then. The
 * new one knows by its environment what it is in. Returns the reason where the machine lacks something for it.
 */
export function enterUserNetwork({ folder, listen, command }: EnterOptions): string {
  const { arch, platform } = process
  if (platform !== 'linux' || !process.execve) return 'only root can make networks for Pods'
  const programs = { perl: findProgram('perl'), pasta: findProgram('pasta'), ip: findProgram('ip') }
  const missing = Object.entries({ ...programs, nsenter: findProgram('nsenter') }).filter(([, path]) => !path)
  if (missing.length > 0) {
    const names = missing.map(([name]) => name).join(', ')
    return `without root that takes these programs, which are missing: ${names} (pasta is in the package passt)`
  }
  const { perl = '', pasta = '', ip = '' } = programs
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const asked = ['-4', '-json', 'route', 'show', 'table', 'all']
    const routes = execFileSync(ip, asked, { timeout: routesDeadlineMs, stdio: ['ignore', 'pipe', 'ignore'] })
    writeFileSync(join(folder, outsideRoutesFile), routes)
    const places = listen.map(({ name, host, port, count }) => `${name}=${host}/${port}/${count}`).join(',')
    const words = [perl, '-w', script, arch, folder, pasta, places, ...command]
    process.execve(perl, words, process.env)
  } catch (error) {
    return errorMessage(error)
  }
  return 'this program could not be started anew'
}
