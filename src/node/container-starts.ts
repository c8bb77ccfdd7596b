import { closeSync, openSync } from 'node:fs'
import type { Clock } from '../foundation/clock.ts'
import type { PreparedCommand } from './container-launcher.ts'
import { ContainerProcess, type ContainerProcessOptions } from './container-process.ts'
import type { NamespaceTools } from './isolation/isolated-command.ts'
import { NamespaceShell, type ShellOwner } from './isolation/namespace-shell.ts'
import { SpareShell } from './isolation/spare-shell.ts'

/** Makes processes of prepared containers; what takes long about that is done ahead where it can be. */
export class ContainerStarts {
  readonly #clock: Clock
  readonly #owner: ShellOwner
  #shells: SpareShell | undefined
  #closed = false

  /** `owner` is for processes that are nobody's yet: they must be known for ours, too. */
  constructor(clock: Clock, owner: ShellOwner) {
    this.#clock = clock
    this.#owner = owner
  }

  /** From now on there is a shell that waits for a container. */
  prepare(tools: NamespaceTools): void {
    if (!this.#closed) this.#shellsOf(tools).refillSoon()
  }

  async run(command: PreparedCommand, output: string, options: ContainerProcessOptions): Promise<ContainerProcess> {
    if (command.mode === 'namespaces') {
      return ContainerProcess.enter(this.#shellsOf(command.tools).take(), command.script, options)
    }
    const descriptor = openSync(output, 'a')
    try {
      return await ContainerProcess.spawn(command, descriptor, options)
    } finally {
      closeSync(descriptor)
    }
  }

  close(): void {
    this.#closed = true
    this.#shells?.close()
  }

  #shellsOf(tools: NamespaceTools): SpareShell {
    this.#shells ??= new SpareShell(this.#clock, () => new NamespaceShell(tools, this.#owner))
    return this.#shells
  }
}
