import type { Logger } from '../../foundation/log.ts'
import type { Store } from '../../store/store.ts'
import type { AdmissionRule } from '../admission/admission.ts'
import type { ClusterApi } from '../cluster-api.ts'
import { writeAggregatedRoles } from './roles/aggregate-roles.ts'
import { createBootstrapAccess } from './roles/bootstrap-access.ts'
import { noEscalation } from './roles/grant-rule.ts'
import { type Authorizer, RbacAuthorizer } from './roles/rbac-authorizer.ts'
import { RoleFollower } from './roles/role-follower.ts'
import { RoleTable } from './roles/role-table.ts'
import { ServiceAccountTokens } from './identity/service-account-tokens.ts'
import { SigningKey } from './identity/signing-key.ts'

export interface ClusterAccessOptions {
  readonly store: Store
  readonly log: Logger
  /** PEM of the key that signs the tokens of service accounts. */
  readonly signingKey: string
  /** Names the cluster in the tokens it issues; no two clusters may share it. */
  readonly issuer: string
}

/** Authentication and authorization of one cluster: who somebody is, and what they may do. */
export class ClusterAccess {
  readonly authorizer: Authorizer
  readonly tokens: ServiceAccountTokens
  readonly admission: readonly AdmissionRule[]
  readonly #log: Logger
  readonly #table = new RoleTable()
  readonly #follower: RoleFollower
  readonly #stopping = new AbortController()
  #api: ClusterApi | undefined
  #aggregation: Promise<void> | undefined
  #changedAgain = false
  #ready = false

  constructor({ store, log, signingKey, issuer }: ClusterAccessOptions) {
    this.#log = log
    this.authorizer = new RbacAuthorizer(this.#table)
    this.tokens = new ServiceAccountTokens({ issuer, key: new SigningKey(signingKey), store })
    this.admission = [noEscalation(this.#table, this.authorizer)]
    this.#follower = new RoleFollower(store, this.#table, () => this.#aggregate())
  }

  /** Whether the roles that a cluster starts with exist. */
  get ready(): boolean {
    return this.#ready
  }

  async start(api: ClusterApi): Promise<void> {
    this.#api = api
    this.#follower.follow(this.#stopping.signal).catch((error: unknown) => {
      this.#log.error({ err: error }, 'roles are no longer followed')
    })
    await createBootstrapAccess(api)
    this.#ready = true
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#aggregation
  }

  /** Runs one aggregation at a time; a change during a run causes one more. */
  #aggregate(): void {
    const api = this.#api
    if (!api || this.#stopping.signal.aborted) return
    if (this.#aggregation) {
      this.#changedAgain = true
      return
    }
    this.#changedAgain = false
    this.#aggregation = writeAggregatedRoles(api, this.#table)
      .catch((error: unknown) => this.#log.warn({ err: error }, 'aggregated roles could not be written'))
      .finally(() => {
        this.#aggregation = undefined
        if (this.#changedAgain) this.#aggregate()
      })
  }
}
