import { type FieldError, faultsOfEach, invalid, required, tooLong } from '../../resources/field-error.ts'
import type { Kind } from '../../resources/kind.ts'
import type { ObjectMeta } from '../../resources/kubernetes-object.ts'
import { checkDnsSubdomain, checkLabels, checkQualifiedName } from '../../resources/validation/name-syntax.ts'

export { checkQualifiedName, isLabelValue, serviceRule } from '../../resources/validation/name-syntax.ts'

const longestAnnotations = 256 * 1024

/** Kubernetes' rules for the name, namespace, labels and annotations of any object. */
export function checkMetadata(kind: Kind, metadata: ObjectMeta): FieldError[] {
  return [
    ...checkName(kind, metadata.name, metadata.generateName ?? ''),
    ...checkLabels('metadata.labels', Object.entries(metadata.labels ?? {})),
    ...checkAnnotations(metadata.annotations ?? {}),
    ...checkOwners(metadata),
    ...checkFinalizers(metadata.finalizers ?? []),
  ]
}

function checkName(kind: Kind, name: string, prefix: string): FieldError[] {
  const check = kind.checkName ?? checkDnsSubdomain
  // A suffix is appended to the prefix, so it may end in a way that a name cannot.
  const ofPrefix = prefix === '' ? [] : check('metadata.generateName', prefix.replace(/-$/, 'a'))
  const shown = ofPrefix.map((error) => ({ ...error, message: error.message.replace(/a":/, '-":') }))
  const errors = prefix.endsWith('-') ? shown : ofPrefix
  if (name === '') return [...errors, required('metadata.name', 'name or generateName is required')]
  return [...errors, ...check('metadata.name', name)]
}

function checkAnnotations(annotations: Record<string, string>): FieldError[] {
  const errors = faultsOfEach(Object.keys(annotations), (key) =>
    checkQualifiedName('metadata.annotations', key.toLowerCase()),
  )
  const size = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  )
  return size > longestAnnotations ? [...errors, tooLong('metadata.annotations', longestAnnotations)] : errors
}

const standardFinalizers = new Set(['foregroundDeletion', 'orphan', 'kubernetes'])

function checkFinalizers(finalizers: readonly string[]): FieldError[] {
  return faultsOfEach(finalizers, (finalizer, index) => {
    if (standardFinalizers.has(finalizer)) return []
    const errors = checkQualifiedName('metadata.finalizers', finalizer)
    if (errors.length > 0 || finalizer.includes('/')) return errors
    const why = 'name is neither a standard finalizer name nor is it fully qualified'
    return [invalid(`metadata.finalizers[${index}]`, finalizer, why)]
  })
}

function checkOwners({ ownerReferences = [] }: ObjectMeta): FieldError[] {
  const field = 'metadata.ownerReferences'
  const errors = faultsOfEach(ownerReferences, (owner) =>
    (['apiVersion', 'kind', 'name', 'uid'] as const)
      .filter((part) => !owner[part])
      .map((part) =>
        invalid(`${field}.${part}`, '', part === 'apiVersion' ? 'version must not be empty' : 'must not be empty'),
      ),
  )
  const [first, second] = ownerReferences.filter(({ controller }) => controller === true)
  if (first === undefined || second === undefined) return errors
  const why = `Only one reference can have Controller set to true. Found "true" in references for ${first.kind}/${first.name} and ${second.kind}/${second.name}`
  return [...errors, invalid(field, ownerReferences, why)]
}

/** Whether a name can be a segment of a URL without being read as a path. */
export function isPathSegmentName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/%\p{Cc}]/u.test(name)
}
