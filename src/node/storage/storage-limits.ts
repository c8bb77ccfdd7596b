import { quantityText, readQuantity } from '../../resources/canonical-quantity.ts'
import type { Container, Pod } from '../../resources/pod.ts'
import { isSidecar, podVolumes } from '../pods/pod-parts.ts'

/** A Pod's use of storage in bytes. */
export interface StorageUse {
  /** By emptyDir volume. */
  readonly volumes: ReadonlyMap<string, number>
  /** By container: its logs, and what it wrote outside of volumes. */
  readonly containers: ReadonlyMap<string, number>
  /** Everything that is on disk. */
  readonly pod: number
}

interface Limit {
  readonly bytes: number
  readonly text: string
}

/** The limits of a Pod. */
export interface StorageLimits {
  readonly volumes: ReadonlyMap<string, Limit>
  readonly containers: ReadonlyMap<string, Limit>
  readonly pod: Limit | undefined
}

const resource = 'ephemeral-storage'

/** `undefined` if nothing is limited: then nothing needs to be measured. */
export function storageLimits(pod: Pod): StorageLimits | undefined {
  const volumes = new Map<string, Limit>()
  for (const { name, emptyDir } of podVolumes(pod)) {
    const limit = limitOf(emptyDir?.sizeLimit)
    if (limit) volumes.set(name, limit)
  }
  const containers = new Map<string, Limit>()
  for (const container of pod.spec.containers) {
    const limit = limitOf(container.resources?.limits?.[resource])
    if (limit) containers.set(container.name, limit)
  }
  const whole = podLimit(pod)
  return volumes.size + containers.size > 0 || whole ? { volumes, containers, pod: whole } : undefined
}

/** Which limit the Pod exceeds, in the kubelet's words and order. */
export function exceededStorage(limits: StorageLimits, use: StorageUse): string | undefined {
  for (const [name, { bytes, text }] of limits.volumes) {
    if ((use.volumes.get(name) ?? 0) > bytes) return `Usage of EmptyDir volume "${name}" exceeds the limit "${text}". `
  }
  if (limits.pod && use.pod > limits.pod.bytes) {
    return `Pod ephemeral local storage usage exceeds the total limit of containers ${limits.pod.text}. `
  }
  for (const [name, { bytes, text }] of limits.containers) {
    if ((use.containers.get(name) ?? 0) > bytes) {
      return `Container ${name} exceeded its local ephemeral storage limit "${text}". `
    }
  }
  return undefined
}

/** The sum of all containers or, if larger, the largest init container. */
function podLimit({ spec }: Pod): Limit | undefined {
  const amountOf = ({ resources }: Container) => readQuantity(resources?.limits?.[resource] ?? '')?.amount
  const sum = (containers: readonly Container[]) =>
    containers.reduce((total, container) => total + (amountOf(container) ?? 0n), 0n)
  const inits = spec.initContainers ?? []
  const all = [...inits, ...spec.containers]
  const first = all.map((container) => container.resources?.limits?.[resource]).find((text) => text !== undefined)
  const format = readQuantity(first ?? '')?.format
  if (!format) return undefined
  const sidecars = sum(inits.filter(isSidecar))
  const amounts = inits.map((container, index) => {
    const before = sum(inits.slice(0, index).filter(isSidecar))
    return isSidecar(container) ? 0n : before + (amountOf(container) ?? 0n)
  })
  const amount = [sum(spec.containers) + sidecars, ...amounts].reduce((most, each) => (each > most ? each : most))
  return limitOf(quantityText({ amount, format }))
}

/** Missing, zero and negative limits do not limit. */
function limitOf(text: string | undefined): Limit | undefined {
  const quantity = text === undefined ? undefined : readQuantity(text)
  if (!quantity || quantity.amount <= 0n) return undefined
  return { bytes: Number(quantity.amount) / 1e9, text: quantityText(quantity) }
}
