import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../foundation/clock.ts'
import { ContainerProcess, type ContainerProcessOptions } from './container-process.ts'
import type { ContainerScript } from './isolation/container-script.ts'
import { ContainerShell, type RootBaseAhead } from './isolation/container-shell.ts'
import { machineRootAhead } from './isolation/container-view.ts'
import type { Isolation } from './isolation/detect-isolation.ts'
import { entryMessage } from './isolation/entry-steps.ts'
import { namespaceCommand, plainShellCommand } from './isolation/isolated-command.ts'
import { SpareShell } from './isolation/spare-shell.ts'
import type { ProcessIdentity } from './process-identity.ts'

/** Whose the shells are: what the list of the machine's processes shows, and marks in their own environment. */
export interface ShellOwner {
  readonly owner: string
  readonly env: Readonly<Record<string, string>>
}

/** Makes processes of prepared containers; what takes long about that is done ahead where it can be. */
export class ContainerStarts {
  readonly #clock: Clock
  readonly #owner: ShellOwner
  readonly #nextNetwork: () => string | undefined
  #shells: SpareShell | undefined
  #closed = false

  /** `owner` is for processes that are nobody's yet: they must be known for ours, too. */
  constructor(clock: Clock, owner: ShellOwner, nextNetwork: () => string | undefined) {
    this.#clock = clock
    this.#owner = owner
    this.#nextNetwork = nextNetwork
  }

  /** From now on there is a shell that waits for a container. */
  async prepare(isolation: Isolation): Promise<void> {
    // Of a run that was killed.
    await rm(this.#bases, { recursive: true, force: true })
    if (!this.#closed) this.#shellsOf(isolation).refillSoon()
  }

  /** The program runs once `record` has noted what its process is known by. */
  async run(
    isolation: Isolation,
    network: string,
    script: ContainerScript,
    record: (identity: ProcessIdentity) => Promise<void>,
    options: ContainerProcessOptions,
  ): Promise<ContainerProcess> {
    const shell = this.#shellsOf(isolation).take(network)
    return ContainerProcess.enter(shell, script, isolation.mode === 'namespaces', record, options)
  }

  close(): void {
    this.#closed = true
    this.#shells?.close()
  }

  /** That of containers without an image: those with one have another. A user's is known only with the container. */
  #baseAhead(isolation: Isolation): RootBaseAhead | undefined {
    if (isolation.mode !== 'namespaces' || isolation.tools.asUser) return undefined
    const folder = join(this.#bases, randomUUID())
    mkdirSync(folder, { recursive: true, mode: 0o755 })
    return { folder, message: entryMessage(machineRootAhead(folder)) }
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
      nextNetwork: this.#nextNetwork,
    })
    return this.#shells
  }
}
