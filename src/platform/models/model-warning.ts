import { isDeepStrictEqual } from 'node:util'
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import type { EngineTable } from '../../operator/engines/engine.ts'
import { adapterObstacle, cardObstacle, engineObstacle } from '../../operator/obstacle.ts'
import type { ProfileFacts } from '../../operator/resource-profile.ts'
import { modelKind, modelSchema } from '../../resources/model.ts'

/**
 * Warns whoever applies a Model that its engine is not known here or loads no adapters, or that no node has the cards
 * for it. The Model is still admitted, since all of that may come; until then its status says the same.
 */
export function modelWarning(profiles: () => ProfileFacts, engines: EngineTable): AdmissionPlugin {
  return {
    hold({ operation, kind, object, previous, warn }) {
      if (!warn || operation === 'delete' || kind.group !== modelKind.group || kind.kind !== modelKind.kind) {
        return undefined
      }
      const model = modelSchema.safeParse(object).data
      if (!model) return undefined
      // Other changes, such as scaling, need no warning.
      const before = modelSchema.safeParse(previous).data?.spec
      const unknown = before?.engine === model.spec.engine ? undefined : engineObstacle(model, engines)
      const isOther = before?.engine !== model.spec.engine || !isDeepStrictEqual(before.adapters, model.spec.adapters)
      const noAdapters = unknown || !isOther ? undefined : adapterObstacle(model, engines)
      const noCard =
        before?.resourceProfile === model.spec.resourceProfile ? undefined : cardObstacle(model, profiles(), engines)
      for (const obstacle of [unknown, noAdapters, noCard]) if (obstacle) warn(obstacle.message)
      return undefined
    },
  }
}
