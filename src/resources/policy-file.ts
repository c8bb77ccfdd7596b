import { stringify } from 'yaml'
import { productBindings, productPolicies } from './product-policies.ts'

const heading =
  '# Generated from src/resources/product-policies.ts by scripts/generate-policies.ts: change them there, not this file.\n'

/** The chart's file with the product's own rules for a real Kubernetes. */
export function policyFile(): string {
  const documents = [...productPolicies, ...productBindings].map((object) =>
    stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }),
  )
  return heading + documents.join('---\n')
}
