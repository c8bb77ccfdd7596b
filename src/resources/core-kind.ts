import type { z } from 'zod'
import { coreSchema } from './facts/core-facts.ts'
import type { Kind } from './kind.ts'
import type { KubernetesObject } from './kubernetes-object.ts'
import type { StructuralSchema } from './structural-schema.ts'

type CoreFacts<T extends KubernetesObject> = Pick<Kind<T>, 'kind' | 'plural' | 'columns'> & Partial<Kind<T>>

/** One of Kubernetes' own kinds: v1 and namespaced, unless it says otherwise. */
export function coreKind<T extends KubernetesObject>(schema: z.ZodType<T>, facts: CoreFacts<NoInfer<T>>): Kind<T> {
  const { group = '', version = 'v1' } = facts
  let known: StructuralSchema | undefined
  return {
    group,
    version,
    singular: facts.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    namespaced: true,
    origin: 'core',
    hasStatus: false,
    // Read from the facts on first use, and used several times by every request.
    fields: () => (known ??= coreSchema(group, version, facts.kind)),
    ...facts,
    schema,
  }
}
