import type { Pod } from '../../../resources/pod.ts'
import type { AddressFamily } from '../../../resources/address-range.ts'
import type { LabelSelector } from '../../../resources/pod-template.ts'
import { selects } from '../../../resources/validation/label-selector-rules.ts'

export type Labels = Readonly<Record<string, string>>

const portProtocols = ['tcp', 'udp', 'sctp'] as const
export type PortProtocol = (typeof portProtocols)[number]

export interface NamedPort {
  readonly name: string
  readonly protocol: PortProtocol
  readonly port: number
}

/** What policies need to know of a Pod, with its address of one family. */
export interface PolicyPod {
  readonly namespace: string
  readonly labels: Labels
  readonly address: string
  readonly ports: readonly NamedPort[]
}

export function portProtocolOf(text: string): PortProtocol | undefined {
  return portProtocols.find((each) => each === text.toLowerCase())
}

export function policyPodOf({ metadata, spec }: Pod, address: string): PolicyPod {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])]
  const ports = containers.flatMap((container) =>
    (container.ports ?? []).flatMap(({ name = '', protocol, containerPort }): NamedPort[] => {
      const known = portProtocolOf(protocol)
      return known === undefined || name === '' ? [] : [{ name, protocol: known, port: containerPort }]
    }),
  )
  return { namespace: metadata.namespace ?? '', labels: metadata.labels ?? {}, address, ports }
}

/**
 * Finds Pods by selectors. The same selector gives the same list object each time, by which others remember results.
 */
export class PodSearch {
  readonly family: AddressFamily
  readonly all: readonly PolicyPod[]
  readonly #byNamespace = new Map<string, PolicyPod[]>()
  readonly #namespaces: ReadonlyMap<string, Labels>
  readonly #answers = new Map<string, readonly PolicyPod[]>()

  constructor(family: AddressFamily, pods: readonly PolicyPod[], namespaces: ReadonlyMap<string, Labels>) {
    this.family = family
    this.all = pods
    this.#namespaces = namespaces
    for (const pod of pods) {
      const together = this.#byNamespace.get(pod.namespace)
      if (together) together.push(pod)
      else this.#byNamespace.set(pod.namespace, [pod])
    }
  }

  inNamespace(namespace: string, selector: LabelSelector): readonly PolicyPod[] {
    return this.#answer(JSON.stringify([namespace, selector]), () =>
      (this.#byNamespace.get(namespace) ?? []).filter(({ labels }) => selects(selector, labels)),
    )
  }

  inNamespaces(namespaces: LabelSelector, selector: LabelSelector): readonly PolicyPod[] {
    return this.#answer(JSON.stringify([namespaces, selector]), () =>
      [...this.#namespaces].flatMap(([name, labels]) =>
        selects(namespaces, labels) ? this.inNamespace(name, selector) : [],
      ),
    )
  }

  #answer(question: string, find: () => readonly PolicyPod[]): readonly PolicyPod[] {
    const known = this.#answers.get(question)
    if (known) return known
    const found = find()
    this.#answers.set(question, found)
    return found
  }
}
