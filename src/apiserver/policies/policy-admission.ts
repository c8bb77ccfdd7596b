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
import type { Attempt, Decision } from '../access/attempt.ts'
import { type User, userInfo } from '../access/identity/user.ts'
import type { Authorizer } from '../access/roles/rbac-authorizer.ts'
import type { AdmissionPlugin, AdmissionRequest, AdmissionRule, RequestPart } from '../admission/admission.ts'
import { CompiledPolicy, type Judgement, type Violation } from './compiled-policy.ts'
import { type VersionedRequest, otherVersions, versionThatMatches } from './equivalent-requests.ts'
import { selects } from './match-resources.ts'
import { PolicyAuthorizer } from './policy-authorizer.ts'

export interface PolicyAdmissionOptions {
  readonly store: Store
  /** Asked by policies who may do what. */
  readonly authorizer: Pick<Authorizer, 'decide'>
  /** Among which a policy's `paramKind` is looked for. */
  readonly kinds: () => readonly Kind[]
}

const failureKey = 'validation.policy.admission.k8s.io/validation_failure'
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

  judge(request: AdmissionRequest): void {
    this.#load()
    if (this.#bindings.size === 0 || isExempt(request)) return
    const namespace = this.#namespaceOf(request)
    const said = new Annotations()
    let refusal: StatusError | undefined
    for (const binding of this.#bindings.values()) {
      const compiled = this.#policies.get(binding.spec.policyName ?? '')
      const asked = compiled && this.#concerned(compiled, binding, request, namespace)
      if (!asked) continue
      const { name } = compiled.policy.metadata
      const { violations, annotations } = this.#judgement(compiled, binding, asked, namespace)
      for (const [key, value] of annotations) said.add(`${name}/${key}`, value)
      const [first] = violations
      if (!first) continue
      const actions = new Set(binding.spec.validationActions)
      const where = `ValidatingAdmissionPolicy '${name}' with binding '${binding.metadata.name}'`
      if (actions.has('Warn')) request.warn?.(`Validation failed for ${where}: ${first.message}`)
      if (actions.has('Audit')) request.annotate?.(failureKey, failureText(name, binding, first))
      if (actions.has('Deny')) refusal ??= refused(request, `${where} denied request: ${first.message}`, first.reason)
    }
    said.tell(request)
    if (refusal) throw refusal
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

  #judgement(
    compiled: CompiledPolicy,
    binding: ValidatingAdmissionPolicyBinding,
    request: VersionedRequest,
    namespace: KubernetesObject | undefined,
  ): Judgement {
    const params = this.#paramsOf(compiled, binding, request)
    if ('problem' in params) {
      const isIgnored = compiled.policy.spec.failurePolicy === 'Ignore'
      const violation = { message: `failed to configure binding: ${params.problem}`, reason: undefined, index: 0 }
      return { violations: isIgnored ? [] : [violation], annotations: [] }
    }
    const { operation } = request
    const { object, previous } = request.part ?? request
    const isDeletion = operation === 'delete'
    const input = {
      object: isDeletion ? null : object,
      oldObject: isDeletion ? object : (previous ?? null),
      request: requestValue(request),
      namespaceObject: namespace ?? null,
    }
    const authorizer = this.#authorizerOf(request)
    const judgements = params.found.map((found) => compiled.judge({ ...input, params: found }, authorizer))
    return {
      violations: judgements.flatMap(({ violations }) => violations),
      annotations: judgements.flatMap(({ annotations }) => annotations),
    }
  }

  #authorizerOf({ kind, object, subresource, user }: AdmissionRequest): PolicyAuthorizer {
    const { name, namespace } = object.metadata
    const about = { group: kind.group, resource: kind.plural, subresource, namespace, name }
    return new PolicyAuthorizer(user, (asker, attempt) => this.#decide(asker, attempt), about)
  }

  /** What the cluster itself does, nobody has to allow. */
  #decide(user: User | undefined, attempt: Attempt): Decision {
    return user === undefined ? { allowed: true, reason: '' } : this.#options.authorizer.decide(user, attempt)
  }

  /** The request as the policy knows it, if it is about such: with `Equivalent`, in whichever version it names. */
  #concerned(
    { policy }: CompiledPolicy,
    { spec }: ValidatingAdmissionPolicyBinding,
    request: AdmissionRequest,
    namespace: KubernetesObject | undefined,
  ): VersionedRequest | undefined {
    const { matchConstraints } = policy.spec
    if (!matchConstraints) return undefined
    const others = () => otherVersions(request, this.#options.kinds())
    const asked = versionThatMatches(matchConstraints, request, others, namespace)
    return asked && versionThatMatches(spec.matchResources, request, others, namespace) ? asked : undefined
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
 * makes something for somebody (a Pod of a Deployment), and not where it keeps itself alive (a Pod's status).
 */
function isExempt({ kind, object, user, subresource, isJudged = false }: AdmissionRequest): boolean {
  if (isJudged || kind.group === validatingAdmissionPolicyKind.group) return true
  return user === undefined && (subresource !== undefined || (object.metadata.ownerReferences ?? []).length === 0)
}

/** What policies add to an audit line. Of several bindings of a policy, each value once. */
class Annotations {
  readonly #values = new Map<string, Set<string>>()

  add(key: string, value: string): void {
    this.#values.set(key, (this.#values.get(key) ?? new Set()).add(value))
  }

  tell({ annotate }: AdmissionRequest): void {
    for (const [key, values] of this.#values) annotate?.(key, [...values].join(', '))
  }
}

function failureText(policy: string, binding: ValidatingAdmissionPolicyBinding, violation: Violation): string {
  const { message, index: expressionIndex } = violation
  const { validationActions } = binding.spec
  return JSON.stringify([{ message, policy, binding: binding.metadata.name, expressionIndex, validationActions }])
}

function requestValue(request: VersionedRequest): unknown {
  const { operation, kind, object, part, subresource = '', user = controllers, dryRun, requestKind = kind } = request
  const { name, namespace = '' } = object.metadata
  const described = ({ group, version, kind }: RequestPart['kind']) => ({ group, version, kind })
  const resourceOf = ({ group, version, plural }: Kind) => ({ group, version, resource: plural })
  return {
    kind: described(part?.kind ?? kind),
    resource: resourceOf(kind),
    subResource: subresource,
    requestKind: described(part?.kind ?? requestKind),
    requestResource: resourceOf(requestKind),
    requestSubResource: subresource,
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
