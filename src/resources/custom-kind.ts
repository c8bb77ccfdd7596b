import { customFields } from './custom-resource-definition.ts'
import type { Kind } from './kind.ts'
import type { KubernetesObject } from './kubernetes-object.ts'
import type { StructuralSchema } from './structural-schema.ts'

/** A kind of ours. Its fields are those its CustomResourceDefinition says, worked out when first asked for. */
export function customKind<T extends KubernetesObject>(facts: Omit<Kind<T>, 'fields' | 'origin'>): Kind<T> {
  let fields: StructuralSchema | undefined
  return { ...facts, origin: 'custom', fields: () => (fields ??= customFields(facts)) }
}
