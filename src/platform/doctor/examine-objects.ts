import { z } from 'zod'
import { type KubernetesObject, objectMetaSchema } from '../../resources/kubernetes-object.ts'
import { OwnerGraph } from './owner-graph.ts'

/** Something unusual in a directory, with advice about what to do. */
export interface Finding {
  readonly what: string
  readonly advice: string
}

/** The parts of Events and Pods that are examined. Anything else in them may be invalid. */
const text = z.string().catch('?')
const eventSchema = z.object({
  reason: text,
  involvedObject: z.object({ kind: text, namespace: text, name: text }).catch({ kind: '?', namespace: '?', name: '?' }),
})
const podSchema = z.object({
  status: z
    .object({
      containerStatuses: z.array(
        z.object({
          restartCount: z.number().catch(0),
          state: z.object({ waiting: z.object({ reason: text }).optional() }).optional(),
        }),
      ),
    })
    .catch({ containerStatuses: [] }),
})

/** Ordinary directories stay far below these numbers. */
const manyEvents = 10_000
const manyRestarts = 20
/** How many examples a finding names. */
const mostNamed = 5

/**
 * Looks at all objects of a directory, one by one, and remembers only what it needs to find out what is unusual: who
 * owns what, what repeats, what does not end.
 */
export class ObjectExamination {
  readonly #owners = new OwnerGraph()
  readonly #eventReasons = new Map<string, number>()
  readonly #restarts: { readonly name: string; readonly count: number; readonly reason: string }[] = []
  readonly #leaving: string[] = []
  readonly #malformed: string[] = []
  readonly #now: number
  #events = 0

  constructor(now: number) {
    this.#now = now
  }

  look(resource: string, object: KubernetesObject): void {
    const metadata = objectMetaSchema.safeParse(object.metadata)
    if (!metadata.success) {
      this.#malformed.push(`${resource} ${object.metadata.name}`)
      return
    }
    const name = `${resource} ${metadata.data.namespace ?? ''}/${metadata.data.name}`
    if (resource === 'events') this.#lookAtEvent(object)
    else this.#owners.add(name, metadata.data)
    if (resource === 'pods') this.#lookAtPod(name, object)
    const { deletionTimestamp, finalizers = [] } = metadata.data
    if (deletionTimestamp !== undefined && this.#now - Date.parse(deletionTimestamp) > stuckAfterMs) {
      this.#leaving.push(finalizers.length > 0 ? `${name} (${finalizers.join(', ')})` : name)
    }
  }

  findings(): readonly Finding[] {
    const found: Finding[] = []
    if (this.#malformed.length > 0) {
      found.push({
        what: `Objects whose metadata cannot be read: ${few(this.#malformed)}.`,
        advice: 'Delete them with kubectl in safe mode.',
      })
    }
    for (const circle of this.#owners.circles()) {
      found.push({
        what: `Objects that own each other in a circle: ${few(circle)}.`,
        advice: 'Nothing ends by itself there. Delete one of them, or take its ownerReferences away.',
      })
    }
    if (this.#events > manyEvents) {
      const most = [...this.#eventReasons].toSorted(([, one], [, other]) => other - one)
      found.push({
        what: `${this.#events} Events, most of them ${few(most.map(([reason, count]) => `${reason} (${count})`))}.`,
        advice: 'Something repeats; look at those objects. The oldest Events are dropped at the next start.',
      })
    }
    if (this.#restarts.length > 0) {
      const most = this.#restarts.toSorted((one, other) => other.count - one.count)
      found.push({
        what: `Containers that keep ending: ${few(most.map(({ name, count, reason }) => `${name} (${count} restarts${reason})`))}.`,
        advice: 'kubectl logs --previous says why.',
      })
    }
    if (this.#leaving.length > 0) {
      found.push({
        what: `Objects that have been going for more than an hour: ${few(this.#leaving)}.`,
        advice: 'Whoever set their finalizers must remove them, or somebody must in its place.',
      })
    }
    return found
  }

  #lookAtEvent(object: KubernetesObject): void {
    this.#events += 1
    const { reason, involvedObject: about } = eventSchema.parse(object)
    const what = `${reason} of ${about.kind} ${about.namespace}/${about.name}`
    const seen = this.#eventReasons.get(what)
    if (seen !== undefined || this.#eventReasons.size < mostReasons) this.#eventReasons.set(what, (seen ?? 0) + 1)
  }

  #lookAtPod(name: string, object: KubernetesObject): void {
    for (const { restartCount, state } of podSchema.parse(object).status.containerStatuses) {
      const reason = state?.waiting === undefined ? '' : `, ${state.waiting.reason}`
      if (restartCount >= manyRestarts) this.#restarts.push({ name, count: restartCount, reason })
    }
  }
}

const stuckAfterMs = 3_600_000
const mostReasons = 10_000

function few(names: readonly string[]): string {
  const more = names.length - mostNamed
  return names.slice(0, mostNamed).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
