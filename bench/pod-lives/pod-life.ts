import { setTimeout as sleep } from 'node:timers/promises'
import { networkPolicyKind } from '../../src/resources/network-policy.ts'
import { type Pod, isPodFinished, isPodReady, podKind } from '../../src/resources/pod.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { anyProgram } from '../../tests/support/fuzz/container-programs.ts'
import { Dice } from '../../tests/support/fuzz/dice.ts'
import type { RestlessSluice } from './restless-sluice.ts'
import { namedServer } from '../named-server.ts'

const namespace = 'default'
const port = 8080
const deadlineMs = 90_000

/** The life of one Pod, from its creation until nothing is left of it in the cluster. The seed decides what it does. */
export class PodLife {
  readonly #sluice: RestlessSluice
  readonly #dice: Dice
  readonly #name: string
  readonly #hostPort: number
  /** Every uid that the Pod has had. */
  readonly #uids: Set<string>

  constructor(sluice: RestlessSluice, number: number, seed: number, uids: Set<string>) {
    this.#sluice = sluice
    this.#dice = new Dice((seed * 1_000_003 + number) >>> 0)
    this.#name = `life-${number}`
    // Used by no other Pod at the same time.
    this.#hostPort = 21_000 + (number % 5_000)
    this.#uids = uids
    for (let warmUp = 0; warmUp < 3; warmUp += 1) this.#dice.roll()
  }

  async run(): Promise<void> {
    if (this.#dice.chance(0.5)) await this.#serve()
    else await this.#pass()
  }

  /** A program that ends by itself or not, and is deleted at some point. */
  async #pass(): Promise<void> {
    const program = anyProgram(this.#dice)
    const restartPolicy = this.#dice.pick(['Never', 'OnFailure', 'Always'])
    const volumes = [{ name: 'scratch', emptyDir: this.#dice.chance(0.3) ? { medium: 'Memory' } : {} }]
    const volumeMounts = [{ name: 'scratch', mountPath: '/sluice-life' }]
    await this.#create({
      restartPolicy,
      volumes,
      containers: [{ name: 'main', image: this.#image, command: program.command, volumeMounts }],
    })
    await sleep(this.#dice.between(0, 1_500))
    await this.#end()
  }

  /**
   * A server with a Service, sometimes a port of the machine, sometimes a policy. It must answer in every possible way.
   */
  async #serve(): Promise<void> {
    const hasHostPort = this.#dice.chance(0.3)
    const service = this.#dice.chance(0.7) ? await this.#createService() : ''
    const isIsolated = this.#dice.chance(0.3)
    if (isIsolated) await this.#createPolicy()
    await this.#create({
      containers: [
        {
          name: 'main',
          image: this.#image,
          command: ['/usr/bin/perl', '-e', namedServer(port)],
          env: [{ name: 'NAME', value: this.#name }],
          ports: [{ containerPort: port, ...(hasHostPort && { hostPort: this.#hostPort }) }],
          readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
        },
      ],
    })
    if (this.#dice.chance(0.8)) {
      const pod = await this.#until('it is ready', (found) => found !== undefined && isPodReady(found))
      const ways = [`${pod?.status?.podIP}:${port}`]
      if (service !== '') ways.push(`${service}:${port}`)
      if (hasHostPort) ways.push(`127.0.0.1:${this.#hostPort}`)
      for (const way of ways) await this.#answers(way)
    }
    await this.#end()
    if (service !== '') await this.#sluice.ask((client) => client.delete(serviceKind, this.#ref))
    if (isIsolated) await this.#sluice.ask((client) => client.delete(networkPolicyKind, this.#ref))
  }

  get #ref() {
    return { namespace, name: this.#name }
  }

  get #image(): string {
    return `${this.#sluice.registry}/sluice/llama-cpp`
  }

  async #create(spec: Readonly<Record<string, unknown>>): Promise<void> {
    const labels = { app: this.#name }
    const terminationGracePeriodSeconds = this.#dice.between(0, 2)
    const body = { metadata: { ...this.#ref, labels }, spec: { terminationGracePeriodSeconds, ...spec } }
    await this.#sluice.ask((client) => client.create(podKind, body))
    const made = await this.#sluice.ask((client) => client.get(podKind, this.#ref))
    if (made?.metadata.uid !== undefined) this.#uids.add(made.metadata.uid)
  }

  async #createService(): Promise<string> {
    const spec = { selector: { app: this.#name }, ports: [{ port }] }
    await this.#sluice.ask((client) => client.create(serviceKind, { metadata: this.#ref, spec }))
    const made = await this.#sluice.ask((client) => client.get(serviceKind, this.#ref))
    return made?.spec.clusterIP ?? ''
  }

  async #createPolicy(): Promise<void> {
    const podSelector = { matchLabels: { app: this.#name } }
    const spec = { podSelector, policyTypes: ['Ingress', 'Egress'], ingress: [{ from: [{ podSelector }] }] }
    await this.#sluice.ask((client) => client.create(networkPolicyKind, { metadata: this.#ref, spec }))
  }

  async #answers(way: string): Promise<void> {
    const giveUpAt = Date.now() + deadlineMs
    for (;;) {
      const said = await fetch(`http://${way}/`, { signal: AbortSignal.timeout(5_000) }).then(
        (answer) => answer.text(),
        (error: unknown) => String(error),
      )
      if (said === this.#name) return
      if (Date.now() > giveUpAt) throw new Error(`${this.#name} did not answer at ${way}: ${said.slice(0, 200)}`)
      await sleep(100)
    }
  }

  async #end(): Promise<void> {
    const graceSeconds = this.#dice.pick([0, 1, undefined])
    await this.#sluice.ask((client) => client.delete(podKind, this.#ref, { graceSeconds }))
    await this.#until('it is gone', (found) => found === undefined)
  }

  async #until(what: string, holds: (pod: Pod | undefined) => boolean): Promise<Pod | undefined> {
    const giveUpAt = Date.now() + deadlineMs
    for (;;) {
      const pod = await this.#sluice.ask((client) => client.get(podKind, this.#ref))
      if (holds(pod)) return pod
      if (Date.now() > giveUpAt) {
        const state = pod && isPodFinished(pod) ? 'finished' : JSON.stringify(pod?.status).slice(0, 500)
        throw new Error(`${this.#name}: gave up waiting until ${what}: ${state}`)
      }
      await sleep(100)
    }
  }
}
