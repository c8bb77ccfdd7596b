import type { EventRecorder } from '../../cluster/event-recorder.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { type Condition, type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import type { Model } from '../../resources/model.ts'
import { type TakenName, wantedNames } from '../../resources/served-names.ts'

const namesConditionType = 'NamesServed'

/** Says whether a Model has the names that it wants to have besides its own; none for one that wants no others. */
export function namesCondition(model: Model, taken: readonly TakenName[] = []): Condition | undefined {
  const wanted = wantedNames(model)
  if (wanted.length === 0) return undefined
  if (taken.length === 0) {
    return {
      type: namesConditionType,
      status: 'True',
      reason: 'Served',
      message: `Also served as ${wanted.join(', ')}.`,
    }
  }
  const owners = taken.map(({ name, by }) => `${name} is served by the Model ${by}`).join('; ')
  const message = `${owners}. A Model's own name comes first, then the oldest Model; choose another name here, or take it away there.`
  return { type: namesConditionType, status: 'False', reason: 'Taken', message }
}

/** An Event for a Model whose new status says that it has lost names, or never got them. */
export function tellOfNames(events: Pick<EventRecorder, 'record'>, model: Model, status: Model['status']): void {
  const is = status?.conditions?.find(isAboutNames)
  const was = model.status?.conditions?.find(isAboutNames)
  if (is?.status !== 'False' || is.message === was?.message) return
  events.record(model, 'Warning', 'NameTaken', is.message ?? '')
}

export function isAboutNames({ type }: Condition): boolean {
  return type === namesConditionType
}

/** Calls back for every Model that may have won or lost names by what happened to another one. */
export function onNamesChange(models: ObjectCache<Model>, look: (model: ObjectRef) => void): () => void {
  return models.onChange(({ type, object, previous }) => {
    const isNews = type !== 'updated' || !previous || !sameNames(object, previous)
    if (!isNews || !models.synced) return
    for (const model of models.list()) if (wantedNames(model).length > 0) look(refOf(model))
  })
}

function sameNames(one: Model, other: Model): boolean {
  return wantedNames(one).join('\n') === wantedNames(other).join('\n')
}
