import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemClock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { programRunner } from '../../node/processes/run-program.ts'
import type { ServiceScope } from './service-unit.ts'

/** Sluice gets its time to stop, which is part of what is waited for. */
const deadlineMs = 150_000
const manager = 'systemctl'
/** Answered by a systemd that runs, and changes nothing. */
const probe = ['show', '--property=Version']

export interface ServiceState {
  readonly isInstalled: boolean
  /** What systemd says, such as `active`, `failed` or `inactive`; `unknown` if it does not answer. */
  readonly active: string
  readonly enabled: string
}

/** A unit of systemd on this machine: its file, and what systemd is told about it. */
export class SystemService {
  readonly scope: ServiceScope
  readonly unit: string
  readonly path: string

  constructor(name: string, scope: ServiceScope, environment: NodeJS.ProcessEnv = process.env) {
    this.scope = scope
    this.unit = `${name}.service`
    this.path = join(unitFolder(scope, environment), this.unit)
  }

  /** What `install` and `uninstall` run, for people who want to see it before. */
  commands(action: 'install' | 'uninstall'): readonly string[] {
    const steps =
      action === 'install'
        ? [['daemon-reload'], ['enable', this.unit], ['restart', this.unit]]
        : [['disable', '--now', this.unit], ['daemon-reload']]
    return steps.map((words) => [manager, ...this.#words(words)].join(' '))
  }

  /** Writes the unit, and starts it now and at every boot. If nothing has changed and it runs, it is left alone. */
  async install(text: string): Promise<'installed' | 'changed' | 'unchanged'> {
    // Before anything is written, which nobody would read.
    await this.#manage(probe)
    const before = existsSync(this.path) ? readFileSync(this.path, 'utf8') : undefined
    if (before !== text) {
      mkdirSync(dirname(this.path), { recursive: true })
      writeFileSync(`${this.path}.new`, text, { mode: 0o644, flush: true })
      renameSync(`${this.path}.new`, this.path)
      await this.#manage(['daemon-reload'])
    }
    await this.#manage(['enable', this.unit])
    const isRunning = (await this.#ask(['is-active', this.unit])) === 'active'
    if (before !== text || !isRunning) await this.#manage(['restart', this.unit])
    return before === undefined ? 'installed' : before === text ? 'unchanged' : 'changed'
  }

  /** Stops it and takes the unit away. False if there is none. Where no systemd runs, nothing runs to be stopped. */
  async uninstall(): Promise<boolean> {
    if (!existsSync(this.path)) return false
    const answered = await this.#run(probe)
    const isManaged = answered.ran && answered.exitCode === 0
    if (isManaged) await this.#manage(['disable', '--now', this.unit])
    rmSync(this.path)
    if (isManaged) await this.#manage(['daemon-reload'])
    return true
  }

  async state(): Promise<ServiceState> {
    return {
      isInstalled: existsSync(this.path),
      active: (await this.#ask(['is-active', this.unit])) ?? 'unknown',
      enabled: (await this.#ask(['is-enabled', this.unit])) ?? 'unknown',
    }
  }

  #words(words: readonly string[]): readonly string[] {
    return this.scope === 'user' ? ['--user', ...words] : words
  }

  async #run(words: readonly string[]) {
    const run = programRunner(systemClock, deadlineMs)
    return run(manager, this.#words(words), new AbortController().signal)
  }

  async #manage(words: readonly string[]): Promise<void> {
    const result = await this.#run(words)
    if (result.ran && result.exitCode === 0) return
    if (!result.ran && result.reason === 'missing') {
      throw new SluiceError('service_failed', { reason: 'there is no systemd on this machine' })
    }
    const said = result.ran ? result.output.trim().split('\n')[0] || `exit code ${result.exitCode}` : result.message
    const reason = `\`${[manager, ...this.#words(words)].join(' ')}\` says: ${said.replace(/\.$/, '')}`
    throw new SluiceError('service_failed', { reason })
  }

  /** The first word of an answer, whatever the exit code. */
  async #ask(words: readonly string[]): Promise<string | undefined> {
    const result = await this.#run(words)
    return result.ran ? /^[a-z-]+$/m.exec(result.output)?.[0] : undefined
  }
}

function unitFolder(scope: ServiceScope, environment: NodeJS.ProcessEnv): string {
  if (scope === 'system') return '/etc/systemd/system'
  return join(environment['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'systemd', 'user')
}

/** Where a service keeps its data, unless another place is named. */
export function serviceData(scope: ServiceScope, environment: NodeJS.ProcessEnv = process.env): string {
  if (scope === 'system') return '/var/lib/sluice'
  return join(environment['XDG_DATA_HOME'] ?? join(homedir(), '.local', 'share'), 'sluice')
}
