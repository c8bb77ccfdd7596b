import {
  type ValidatingAdmissionPolicyBinding,
  validatingAdmissionPolicyBindingSchema,
  validatingAdmissionPolicySchema,
} from '../../resources/admission-policy-schemas.ts'
import type { FieldError } from '../../resources/field-error.ts'
import { type Kind, apiVersionOf, resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError, type StatusReason } from '../../resources/status-error.ts'
import {
  validatingAdmissionPolicyBindingKind,
  validatingAdmissionPolicyKind,
} from '../../resources/validating-admission-policy.ts'
import type { Store } from '../../store/store.ts'
import { userInfo } from '../access/identity/user.ts'
import type { AdmissionPlugin, AdmissionRequest, AdmissionRule } from '../admission/admission.ts'
import { CompiledPolicy, type Violation } from './compiled-policy.ts'
import { matchesResources, selects } from './match-resources.ts'

export interface PolicyAdmissionOptions {
  readonly store: Store
  /** Among which a policy's `paramKind` is looked for. */
  readonly kinds: () => readonly Kind[]
}

/** Whose writes are made by the cluster itself, as a policy sees it. */
const controllers = { name: 'system:kube-controller-manager', groups: ['system:authenticated'] }
const reasons: ReadonlySet<string> = new Set<StatusReason>(['Forbidden', 'Invalid', 'RequestEntityTooLarge'])

/** Refuses policies whose expressions cannot be compiled. */
export const policiesCompile: AdmissionRule = ({ operation, kind, object }): readonly FieldError[] => {
  if (operation === 'delete' || !isKind(kind, validatingAdmissionPolicyKind)) return []
  const policy = validatingAdmissionPolicySchema.safeParse(object).data
  return policy ? new CompiledPolicy(policy).faults : []
}

/** Holds writes to the cluster's ValidatingAdmissionPolicies. Where there are none, it costs nothing. */
export class PolicyAdmission implements AdmissionPlugin {
  readonly #options: PolicyAdmissionOptions
  readonly #policies = new Map<string, CompiledPolicy>()
  readonly #bindings = new Map<string, ValidatingAdmissionPolicyBinding>()
  #isLoaded = false

  constructor(options: PolicyAdmissionOptions) {
    this.#options = options
  }

  hold(request: AdmissionRequest): undefined {
    this.#load()
    if (this.#bindings.size === 0 || isExempt(request)) return undefined
    const namespace = this.#namespaceOf(request)
    let refusal: StatusError | undefined
    for (const binding of this.#bindings.values()) {
      const compiled = this.#policies.get(binding.spec.policyName ?? '')
      if (!compiled || !isConcerned(compiled, binding, request, namespace)) continue
      const [first] = this.#violations(compiled, binding, request, namespace)
      if (!first) continue
      const actions = new Set(binding.spec.validationActions)
      const where = `ValidatingAdmissionPolicy '${compiled.policy.metadata.name}' with binding '${binding.metadata.name}'`
      if (actions.has('Warn')) request.warn?.(`Validation failed for ${where}: ${first.message}`)
      if (actions.has('Deny')) refusal ??= refused(request, `${where} denied request: ${first.message}`, first.reason)
    }
    if (refusal) throw refusal
    return undefined
  }

  changed(kind: Kind, object: KubernetesObject, gone: boolean): void {
    if (!this.#isLoaded) return
    if (isKind(kind, validatingAdmissionPolicyKind)) this.#keepPolicy(object, gone)
    else if (isKind(kind, validatingAdmissionPolicyBindingKind)) this.#keepBinding(object, gone)
  }

  /** Those from before this program started are found when first asked for. */
  #load(): void {
    if (this.#isLoaded) return
    this.#isLoaded = true
    const { store } = this.#options
    const listed = (kind: Kind) => store.list({ resource: resourceNameOf(kind) }).items
    for (const { object } of listed(validatingAdmissionPolicyKind)) this.#keepPolicy(object, false)
    for (const { object } of listed(validatingAdmissionPolicyBindingKind)) this.#keepBinding(object, false)
  }

  #keepPolicy(object: KubernetesObject, gone: boolean): void {
    const { name } = object.metadata
    const policy = gone ? undefined : validatingAdmissionPolicySchema.safeParse(object).data
    if (policy) this.#policies.set(name, new CompiledPolicy(policy))
    else this.#policies.delete(name)
  }

  #keepBinding(object: KubernetesObject, gone: boolean): void {
    const { name } = object.metadata
    const binding = gone ? undefined : validatingAdmissionPolicyBindingSchema.safeParse(object).data
    if (binding) this.#bindings.set(name, binding)
    else this.#bindings.delete(name)
  }

  #violations(
    compiled: CompiledPolicy,
    binding: ValidatingAdmissionPolicyBinding,
    request: AdmissionRequest,
    namespace: KubernetesObject | undefined,
  ): readonly Violation[] {
    const params = this.#paramsOf(compiled, binding, request)
    if ('problem' in params) {
      const isIgnored = compiled.policy.spec.failurePolicy === 'Ignore'
      return isIgnored ? [] : [{ message: `failed to configure binding: ${params.problem}`, reason: undefined }]
    }
    const { operation, object, previous } = request
    const isDeletion = operation === 'delete'
    const input = {
      object: isDeletion ? null : object,
      oldObject: isDeletion ? object : (previous ?? null),
      request: requestValue(request),
      namespaceObject: namespace ?? null,
    }
    return params.found.flatMap((found) => compiled.judge({ ...input, params: found }))
  }

  /** Each object that a binding names is judged by itself; without parameters there is one judgement without any. */
  #paramsOf(
    { policy }: CompiledPolicy,
    { spec: { paramRef } }: ValidatingAdmissionPolicyBinding,
    { object }: AdmissionRequest,
  ): { readonly found: readonly unknown[] } | { readonly problem: string } {
    const { paramKind } = policy.spec
    if (!paramKind || !paramRef) return { found: [null] }
    const { store, kinds } = this.#options
    const kind = kinds().find((one) => apiVersionOf(one) === paramKind.apiVersion && one.kind === paramKind.kind)
    if (!kind)
      return {
        problem: `failed to find resource referenced by paramKind: '${paramKind.apiVersion}, Kind=${paramKind.kind}'`,
      }
    const namespace = kind.namespaced ? (paramRef.namespace ?? object.metadata.namespace ?? '') : ''
    const resource = resourceNameOf(kind.storage?.kind ?? kind)
    const { name, selector } = paramRef
    const found =
      name === undefined || name === ''
        ? store.list({ resource, namespace }).items.filter((item) => selects(selector, item.object.metadata.labels))
        : [store.get({ resource, namespace, name })].filter((item) => item !== undefined)
    if (found.length === 0 && paramRef.parameterNotFoundAction === 'Deny') {
      return { problem: 'no params found for policy binding with `Deny` parameterNotFoundAction' }
    }
    return { found: found.map((item) => item.object) }
  }

  #namespaceOf({ kind, object }: AdmissionRequest): KubernetesObject | undefined {
    const { namespace: name } = object.metadata
    if (!kind.namespaced || name === undefined) return undefined
    return this.#options.store.get({ resource: 'namespaces', namespace: '', name })?.object
  }
}

/**
 * Policies can always be mended, so none is about policies. The cluster's own writes are judged where a controller
 * makes something for somebody (a Pod of a Deployment), and not where it keeps itself alive.
 */
function isExempt({ kind, object, user, subresource }: AdmissionRequest): boolean {
  if (kind.group === validatingAdmissionPolicyKind.group || subresource !== undefined) return true
  return user === undefined && (object.metadata.ownerReferences ?? []).length === 0
}

function isConcerned(
  { policy }: CompiledPolicy,
  { spec }: ValidatingAdmissionPolicyBinding,
  request: AdmissionRequest,
  namespace: KubernetesObject | undefined,
): boolean {
  if (!policy.spec.matchConstraints) return false
  return (
    matchesResources(policy.spec.matchConstraints, request, namespace) &&
    matchesResources(spec.matchResources, request, namespace)
  )
}

function requestValue({ operation, kind, object, user = controllers, dryRun }: AdmissionRequest): unknown {
  const { group, version, plural } = kind
  const { name, namespace = '' } = object.metadata
  const described = { group, version, kind: kind.kind }
  const resource = { group, version, resource: plural }
  return {
    kind: described,
    resource,
    subResource: '',
    requestKind: described,
    requestResource: resource,
    requestSubResource: '',
    name,
    namespace,
    operation: operation.toUpperCase(),
    userInfo: { groups: [], extra: {}, uid: '', ...userInfo(user) },
    dryRun: dryRun ?? false,
  }
}

function refused({ kind, object }: AdmissionRequest, message: string, reason: string | undefined): StatusError {
  const { name } = object.metadata
  const whole = `${resourceNameOf(kind)} "${name}" is forbidden: ${message}`
  return new StatusError(isReason(reason) ? reason : 'Invalid', whole, {
    name,
    group: kind.group || undefined,
    kind: kind.plural,
    causes: [{ message }],
  })
}

function isReason(reason: string | undefined): reason is StatusReason {
  return reason !== undefined && reasons.has(reason)
}

function isKind(kind: Kind, other: Pick<Kind, 'group' | 'kind'>): boolean {
  return kind.group === other.group && kind.kind === other.kind
}
