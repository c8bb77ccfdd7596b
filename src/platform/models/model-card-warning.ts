import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts'
import { cardObstacle } from '../../operator/obstacle.ts'
import type { ProfileFacts } from '../../operator/resource-profile.ts'
import { modelKind, modelSchema } from '../../resources/model.ts'

/**
 * Tells whoever applies a Model that no node can hold it. It is let in, since a node with such cards may come, and its
 * status says the same until then.
 */
export function modelCardWarning(profiles: () => ProfileFacts): AdmissionPlugin {
  return {
    hold({ operation, kind, object, previous, warn }) {
      if (!warn || operation === 'delete' || kind.group !== modelKind.group || kind.kind !== modelKind.kind) {
        return undefined
      }
      const model = modelSchema.safeParse(object).data
      const obstacle = model && cardObstacle(model, profiles())
      // Scaling and labelling are no news about cards.
      if (obstacle && profileOf(previous) !== model.spec.resourceProfile) warn(obstacle.message)
      return undefined
    },
  }
}

function profileOf(previous: unknown): string | undefined {
  return modelSchema.safeParse(previous).data?.spec.resourceProfile
}
