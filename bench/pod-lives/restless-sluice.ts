import { setTimeout as sleep } from 'node:timers/promises'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { isStatusError } from '../../src/resources/status-error.ts'
import { SluiceProcess } from '../../tests/support/sluice-process.ts'

const deadlineMs = 120_000

/** A Sluice that is killed at any moment and started again. Callers wait for its next start. */
export class RestlessSluice {
  readonly data: string
  kills = 0
  #process: SluiceProcess | undefined
  #client: KubernetesClient | undefined
  #starting: Promise<void> | undefined

  constructor(data: string) {
    this.data = data
  }

  start(): Promise<void> {
    this.#starting = this.#start()
    return this.#starting
  }

  get registry(): string {
    return this.#process?.endpoints.registry ?? ''
  }

  get output(): string {
    return this.#process?.output ?? ''
  }

  /** Kills it without warning, and starts it again at once. */
  async kill(): Promise<void> {
    await this.#starting
    this.kills += 1
    const { pid } = this.#process?.endpoints ?? { pid: 0 }
    process.kill(pid, 'SIGKILL')
    const ended = this.#process?.exited
    this.#starting = (async () => {
      await ended
      this.#client?.close()
      await this.#start()
    })()
    await this.#starting
  }

  async stop(): Promise<void> {
    await this.#starting
    this.#client?.close()
    await this.#process?.stop()
  }

  destroy(): void {
    this.#client?.close()
    this.#process?.destroy()
  }

  /**
   * Repeats a request until it is answered. It is no error if the request had already been done before Sluice was
   * killed.
   */
  async ask<T>(act: (client: KubernetesClient) => Promise<T>): Promise<T | undefined> {
    const giveUpAt = Date.now() + deadlineMs
    for (let tries = 0; ; tries += 1) {
      await this.#starting
      try {
        if (!this.#client) throw new Error('nobody is there')
        return await act(this.#client)
      } catch (error) {
        if (isStatusError(error) && ['AlreadyExists', 'NotFound'].includes(error.reason) && tries > 0) return undefined
        if ((isStatusError(error) && error.code < 500) || Date.now() > giveUpAt) throw error
      }
      await sleep(50)
    }
  }

  async #start(): Promise<void> {
    this.#process = await SluiceProcess.start(this.data, ['--no-demo-model', '--no-gateway', '--no-safe-mode'])
    this.#client = await connectKubernetes(this.#process.kubeconfig)
  }
}
