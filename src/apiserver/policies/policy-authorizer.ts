import type { Environment } from '@marcbachmann/cel-js'
import type { Attempt, Decision } from '../access/attempt.ts'
import { type User, authenticated, serviceAccountGroups, serviceAccountUserName } from '../access/identity/user.ts'

/** Whether somebody may do something, where a policy asks. */
export type Decide = (user: User | undefined, attempt: Attempt) => Decision

type ResourceAttempt = Extract<Attempt, { type: 'resource' }>
type AboutResource = Omit<ResourceAttempt, 'type' | 'verb'>

/** Asks the cluster's own roles about somebody. */
class Asker {
  readonly user: User | undefined
  readonly decide: Decide

  constructor(user: User | undefined, decide: Decide) {
    this.user = user
    this.decide = decide
  }
}

/** `authorizer` in the expressions of policies: asks about who makes the request. */
export class PolicyAuthorizer extends Asker {
  /** About the object of the request itself. */
  readonly requestResource: ResourceCheck

  constructor(user: User | undefined, decide: Decide, request: AboutResource) {
    super(user, decide)
    this.requestResource = new ResourceCheck(this, request)
  }
}

class PathCheck {
  readonly by: Asker
  readonly path: string

  constructor(by: Asker, path: string) {
    this.by = by
    this.path = path
  }
}

class GroupCheck {
  readonly by: Asker
  readonly group: string

  constructor(by: Asker, group: string) {
    this.by = by
    this.group = group
  }
}

class ResourceCheck {
  readonly by: Asker
  readonly about: AboutResource

  constructor(by: Asker, about: AboutResource) {
    this.by = by
    this.about = about
  }

  with(more: Partial<ResourceAttempt>): ResourceCheck {
    return new ResourceCheck(this.by, { ...this.about, ...more })
  }
}

class Decided {
  readonly decision: Decision

  constructor(decision: Decision) {
    this.decision = decision
  }
}

/** Adds `authorizer` with its methods, as Kubernetes has them. */
export function registerAuthorizer(environment: Environment): Environment {
  environment.registerType('ResourceCheck', { ctor: ResourceCheck })
  environment.registerType('GroupCheck', { ctor: GroupCheck })
  environment.registerType('PathCheck', { ctor: PathCheck })
  environment.registerType('Decision', { ctor: Decided })
  environment.registerType('Authorizer', { ctor: Asker })
  environment.registerType('RequestAuthorizer', {
    ctor: PolicyAuthorizer,
    fields: { requestResource: 'ResourceCheck' },
  })
  environment.registerVariable('authorizer', 'RequestAuthorizer')
  for (const type of ['Authorizer', 'RequestAuthorizer']) registerAsker(environment, type)
  environment
    .registerFunction('GroupCheck.resource(string): ResourceCheck', ({ by, group }: GroupCheck, resource: string) => {
      return new ResourceCheck(by, { group, resource })
    })
    .registerFunction('PathCheck.check(string): Decision', ({ by, path }: PathCheck, verb: string) => {
      return new Decided(by.decide(by.user, { type: 'path', verb, path }))
    })
    .registerFunction('ResourceCheck.check(string): Decision', ({ by, about }: ResourceCheck, verb: string) => {
      return new Decided(by.decide(by.user, { type: 'resource', verb, ...about }))
    })
    .registerFunction('Decision.allowed(): bool', ({ decision }: Decided) => decision.allowed)
    .registerFunction('Decision.reason(): string', ({ decision }: Decided) => decision.reason)
    // Roles always decide; what they cannot resolve is a reason.
    .registerFunction('Decision.errored(): bool', () => false)
    .registerFunction('Decision.error(): string', () => '')
  for (const part of ['subresource', 'namespace', 'name'] as const) {
    const narrowed = (check: ResourceCheck, value: string) => check.with({ [part]: value === '' ? undefined : value })
    environment.registerFunction(`ResourceCheck.${part}(string): ResourceCheck`, narrowed)
  }
  // Roles know no selectors: who may do it to some may do it to all.
  for (const part of ['fieldSelector', 'labelSelector']) {
    environment.registerFunction(`ResourceCheck.${part}(string): ResourceCheck`, (check: ResourceCheck) => check)
  }
  return environment
}

function registerAsker(environment: Environment, type: string): void {
  environment
    .registerFunction(`${type}.path(string): PathCheck`, (by: Asker, path: string) => new PathCheck(by, path))
    .registerFunction(`${type}.group(string): GroupCheck`, (by: Asker, group: string) => new GroupCheck(by, group))
    .registerFunction(
      `${type}.serviceAccount(string, string): Authorizer`,
      ({ decide }: Asker, namespace: string, name: string) => {
        const account = { name: serviceAccountUserName(namespace, name), groups: serviceAccountGroups(namespace) }
        return new Asker(authenticated(account), decide)
      },
    )
}
