import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { cardObstacle } from '../../operator/obstacle.ts'
import type { ProfileFacts } from '../../operator/resource-profile.ts'
import { modelKind, modelSchema } from '../../resources/model.ts'

/**
 * Warns whoever applies a Model that no node has the cards for it. The Model is still admitted, since such a node may
 * come; until then its status says the same.
 */
export function modelCardWarning(profiles: () => ProfileFacts): AdmissionPlugin {
  return {
    hold({ operation, kind, object, previous, warn }) {
      if (!warn || operation === 'delete' || kind.group !== modelKind.group || kind.kind !== modelKind.kind) {
        return undefined
      }
      const model = modelSchema.safeParse(object).data
      const obstacle = model && cardObstacle(model, profiles())
      // Other changes, such as scaling, need no warning about cards.
      if (obstacle && profileOf(previous) !== model.spec.resourceProfile) warn(obstacle.message)
      return undefined
    },
  }
}

function profileOf(previous: unknown): string | undefined {
  return modelSchema.safeParse(previous).data?.spec.resourceProfile
}
