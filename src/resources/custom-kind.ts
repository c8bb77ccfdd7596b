import { customFields } from './custom-resource-definition.ts'
import type { Kind } from './kind.ts'
import type { KubernetesObject } from './kubernetes-object.ts'
import type { StructuralSchema } from './structural-schema.ts'

/** One of our own kinds. Its fields are those of its CustomResourceDefinition, computed on first use. */
export function customKind<T extends KubernetesObject>(facts: Omit<Kind<T>, 'fields' | 'origin'>): Kind<T> {
  let fields: StructuralSchema | undefined
  return { ...facts, origin: 'custom', fields: () => (fields ??= customFields(facts)) }
}
