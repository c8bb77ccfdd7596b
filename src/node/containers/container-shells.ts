import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Clock } from '../../foundation/clock.ts'
import { type Cgroups, removeGroups } from '../isolation/cgroups.ts'
import { ContainerShell, type RootBaseAhead } from '../isolation/container-shell.ts'
import { machineRootAhead } from '../isolation/container-view.ts'
import type { Isolation } from '../isolation/detect-isolation.ts'
import { type EntryStep, entryMessage } from '../isolation/entry-steps.ts'
import { namespaceCommand, plainShellCommand } from '../isolation/isolated-command.ts'
import { SpareShell, type SpareShellOptions } from '../isolation/spare-shell.ts'
import type { ContainerRecord } from '../pods/pod-records.ts'
import { type ContainerLaunch, ContainerRefused } from '../pod-runtime.ts'
import { isAlive } from '../processes/process-identity.ts'

/** Who owns the shells: shown in the machine's process list, and marked in their environment. */
export interface ShellOwner {
  readonly owner: string
  readonly env: Readonly<Record<string, string>>
}

export interface StartingShell {
  readonly shell: ContainerShell
  /** Whether it runs in the PID namespace of another container. */
  readonly sharesProcesses: boolean
  /** What the container asked for but does not get. */
  readonly warning?: string
}

/** Tells which network the next container will be in. */
export type NextNetwork = Pick<SpareShellOptions, 'nextNetwork' | 'onNextNetwork'>

/** For Pods that share the machine's network. */
export const machineNetwork: NextNetwork = { nextNetwork: () => '', onNextNetwork: () => () => {} }

/**
 * The shells that become the first processes of containers. Making one (with namespaces, cgroups and mounts) takes
 * longest of all that a start needs, so one is always kept ready where that is possible.
 */
export class ContainerShells {
  readonly #clock: Clock
  readonly #owner: ShellOwner
  readonly #networks: NextNetwork
  readonly #cgroups: Cgroups
  #shells: SpareShell | undefined
  #closed = false

  /** `owner` marks shells that wait: they belong to no Pod yet, but must be recognised as this node's. */
  constructor(clock: Clock, owner: ShellOwner, networks: NextNetwork, cgroups: Cgroups) {
    this.#clock = clock
    this.#owner = owner
    this.#networks = networks
    this.#cgroups = cgroups
  }

  /** Begins to keep a shell ready. */
  async prepare(isolation: Isolation): Promise<void> {
    // Left by a run that was killed.
    await rm(this.#bases, { recursive: true, force: true })
    if (!this.#closed) this.#shellsOf(isolation).refillSoon()
  }

  /** A shell for a container in this network. The caller runs something in it or discards it. */
  take(isolation: Isolation, network: string): ContainerShell {
    return this.#shellsOf(isolation).take(network)
  }

  /**
   * A shell for this container. One that targets another container (`found`) joins that one's PID namespace, so its
   * shell cannot be made ahead.
   */
  shellFor(launch: ContainerLaunch, isolation: Isolation, found: ContainerRecord | undefined): StartingShell {
    const { target, network = '' } = launch
    if (target === undefined) return { shell: this.take(isolation, network), sharesProcesses: false }
    if (!found || !isAlive(found)) {
      throw new ContainerRefused('CreateContainerError', `unable to find target container ${target}`)
    }
    if (isolation.mode === 'namespaces' && !isolation.tools.asUser && found.isolated) {
      const { owner, env } = this.#owner
      const command = namespaceCommand(isolation.tools, owner, network, found.pid)
      return { shell: new ContainerShell(command, env), sharesProcesses: true }
    }
    const warning = `targetContainerName: a node that does not run as root cannot show it the processes of ${target}`
    return { shell: this.take(isolation, network), sharesProcesses: false, warning }
  }

  /** Tells that a mount was made or removed which existing shells cannot see. */
  mountsChanged(): void {
    this.#shells?.renew()
  }

  close(): void {
    this.#closed = true
    this.#shells?.close()
  }

  /**
   * What can be set up ahead: the root of a container without an image. Other roots, and user namespaces, depend on the
   * container.
   */
  #baseAhead(isolation: Isolation): RootBaseAhead | undefined {
    if (isolation.mode !== 'namespaces' || isolation.tools.asUser) return undefined
    const folder = join(this.#bases, randomUUID())
    mkdirSync(folder, { recursive: true, mode: 0o755 })
    const groups = this.#cgroups.makeAhead(basename(folder))
    const enter = groups.map((group): EntryStep => ['group', join(group, 'cgroup.procs')])
    const letGo = () => {
      removeGroups(groups)
      if (this.#closed) this.#cgroups.close()
    }
    return { folder, groups, message: entryMessage([...enter, ...machineRootAhead(folder)]), letGo }
  }

  get #bases(): string {
    return join(this.#owner.owner, 'spare-roots')
  }

  #shellsOf(isolation: Isolation): SpareShell {
    const { owner, env } = this.#owner
    const command = (network: string) =>
      isolation.mode === 'namespaces' ? namespaceCommand(isolation.tools, owner, network) : plainShellCommand(owner)
    this.#shells ??= new SpareShell({
      clock: this.#clock,
      start: (network, use) =>
        new ContainerShell(command(network), env, { base: use === 'later' ? this.#baseAhead(isolation) : undefined }),
      ...this.#networks,
    })
    return this.#shells
  }
}
