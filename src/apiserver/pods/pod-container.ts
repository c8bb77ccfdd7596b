import type { Pod } from '../../resources/pod.ts'
import { StatusError } from '../../resources/status-error.ts'

/** The container a request is about: the one it names, or else the only one there is. */
export function podContainer({ metadata, spec }: Pod, asked: string): string {
  const names = [...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name)
  const added = (spec.ephemeralContainers ?? []).map(({ name }) => name)
  if (asked !== '') {
    if (names.includes(asked) || added.includes(asked)) return asked
    throw new StatusError('BadRequest', `container ${asked.slice(0, 63)} is not valid for pod ${metadata.name}`)
  }
  const [only, another] = spec.containers
  if (only !== undefined && another === undefined) return only.name
  const choices = `choose one of: [${names.join(' ')}]`
  throw new StatusError('BadRequest', `a container name must be specified for pod ${metadata.name}, ${choices}`)
}

/** Throws when the Pod is not on a node yet. */
export function hostedPod({ metadata, spec }: Pod): void {
  if (spec.nodeName !== undefined && spec.nodeName !== '') return
  throw new StatusError('BadRequest', `pod ${metadata.name} does not have a host assigned`)
}
