import { resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { Store } from '../../store/store.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'
import { randomSuffix } from '../writing/name-suffix.ts'

const defaultAccount = 'default'
const volumePrefix = 'kube-api-access-'
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
/** A little over an hour: Kubernetes recognizes tokens that it added itself by this number. */
const tokenSeconds = 3607

/**
 * Gives every Pod a service account, and mounts its token where programs look for it, unless the Pod or the account
 * wants none.
 */
export class ServiceAccountAdmission implements AdmissionPlugin {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  complete({ operation, kind, object }: AdmissionRequest): KubernetesObject {
    const { spec } = object
    if (operation !== 'create' || resourceNameOf(kind) !== 'pods' || !isJsonObject(spec)) return object
    const given = spec['serviceAccountName']
    const name = typeof given === 'string' && given !== '' ? given : defaultAccount
    const account = this.#account(object, name)
    const named = { ...spec, serviceAccountName: name, serviceAccount: name }
    const mounted = wantsToken(spec, account) ? withToken(named) : named
    return { ...object, spec: withPullSecrets(mounted, account) }
  }

  #account(pod: KubernetesObject, name: string): KubernetesObject | undefined {
    const { namespace = '', name: podName } = pod.metadata
    const found = this.#store.get({ resource: 'serviceaccounts', namespace, name })?.object
    // The default account is created right after its namespace, and again when it was deleted: a Pod that comes first
    // need not wait for it.
    if (found || name === defaultAccount) return found
    const why = `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`
    throw new StatusError('Forbidden', `pods "${podName}" is forbidden: ${why}`, { name: podName, kind: 'pods' })
  }
}

function wantsToken(spec: JsonObject, account: KubernetesObject | undefined): boolean {
  return (spec['automountServiceAccountToken'] ?? account?.['automountServiceAccountToken']) !== false
}

function withToken(spec: JsonObject): JsonObject {
  const volumes: unknown[] = Array.isArray(spec['volumes']) ? spec['volumes'] : []
  const own = volumes.find((volume) => isJsonObject(volume) && String(volume['name']).startsWith(volumePrefix))
  const name = isJsonObject(own) ? String(own['name']) : volumePrefix + randomSuffix()
  let isMounted = false
  const mountIn = (container: unknown): unknown => {
    if (!isJsonObject(container)) return container
    const mounts: unknown[] = Array.isArray(container['volumeMounts']) ? container['volumeMounts'] : []
    if (mounts.some((mount) => isJsonObject(mount) && mount['mountPath'] === mountPath)) return container
    isMounted = true
    return { ...container, volumeMounts: [...mounts, { name, readOnly: true, mountPath }] }
  }
  const { containers, initContainers } = spec
  const changed = {
    ...spec,
    ...(Array.isArray(initContainers) && { initContainers: initContainers.map(mountIn) }),
    ...(Array.isArray(containers) && { containers: containers.map(mountIn) }),
  }
  return isMounted && !own ? { ...changed, volumes: [...volumes, tokenVolume(name)] } : changed
}

function tokenVolume(name: string): JsonObject {
  const sources = [
    { serviceAccountToken: { expirationSeconds: tokenSeconds, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    {
      downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] },
    },
  ]
  return { name, projected: { sources, defaultMode: 0o644 } }
}

function withPullSecrets(spec: JsonObject, account: KubernetesObject | undefined): JsonObject {
  const own = spec['imagePullSecrets']
  const offered = account?.['imagePullSecrets']
  if ((Array.isArray(own) && own.length > 0) || !Array.isArray(offered) || offered.length === 0) return spec
  return { ...spec, imagePullSecrets: offered }
}
