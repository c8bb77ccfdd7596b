import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { configMapKind } from '../../resources/config-map.ts'
import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { Namespace } from '../../resources/namespace.ts'
import { resourceQuotaKind } from '../../resources/resource-quota.ts'
import { serviceAccountKind } from '../../resources/service-account.ts'
import { type QuotaCounts, ResourceQuotaStatus } from './resource-quota-status.ts'
import { RootCertificates } from './root-certificates.ts'
import { DefaultServiceAccounts } from './default-service-accounts.ts'
import type { Runs } from '../workload-runners.ts'

export interface NamespaceBasicsOptions {
  readonly client: ClusterClient
  readonly watch: <T extends KubernetesObject>(kind: Kind<T>) => ObjectCache<T>
  readonly namespaces: ObjectCache<Namespace>
  readonly rootCertificate?: string | undefined
  readonly quotaCounts?: QuotaCounts | undefined
  readonly clock: Clock
  readonly log: Logger
}

/**
 * The controllers for what every namespace has by itself: the default account, the root certificate and the use of
 * quotas.
 */
export function namespaceBasics(options: NamespaceBasicsOptions): readonly Runs[] {
  const { client, watch, namespaces, rootCertificate, quotaCounts, clock, log } = options
  const common = { client, namespaces, clock, log }
  const runners: Runs[] = [new DefaultServiceAccounts({ ...common, accounts: watch(serviceAccountKind) })]
  if (rootCertificate !== undefined) {
    runners.push(new RootCertificates({ ...common, certificate: rootCertificate, configMaps: watch(configMapKind) }))
  }
  if (quotaCounts) {
    runners.push(new ResourceQuotaStatus({ client, quotas: watch(resourceQuotaKind), counts: quotaCounts, clock, log }))
  }
  return runners
}
