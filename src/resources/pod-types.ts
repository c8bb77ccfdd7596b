import type { JsonObject } from './json-value.ts'
import { claimTypes } from './persistent-volume-claim.ts'
import { type TypeRules, core, missing, missingOrZero } from './type-rules.ts'

const fileMode = 0o644

const container = missing({
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  resources: {},
})

/** For a volume whose data is on the machine itself, of a Pod or in a PersistentVolume. */
export const hostPathTypes: TypeRules = { [`${core}HostPathVolumeSource`]: { complete: missing({ type: '' }) } }

/** What Kubernetes adds to the parts of a Pod, also in templates. */
export const podTypes: TypeRules = {
  ...claimTypes,
  ...hostPathTypes,
  [`${core}PodTemplateSpec`]: { parts: ['metadata', 'spec'] },
  [`${core}PodSpec`]: {
    complete: missing({
      dnsPolicy: 'ClusterFirst',
      restartPolicy: 'Always',
      schedulerName: 'default-scheduler',
      securityContext: {},
      terminationGracePeriodSeconds: 30,
    }),
  },
  [`${core}Container`]: { complete: withPullPolicy },
  [`${core}EphemeralContainer`]: { complete: withPullPolicy },
  [`${core}ContainerPort`]: { complete: missing({ protocol: 'TCP' }) },
  [`${core}Probe`]: {
    complete: missingOrZero({ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }),
  },
  [`${core}HTTPGetAction`]: { complete: missing({ path: '/', scheme: 'HTTP' }) },
  [`${core}ObjectFieldSelector`]: { complete: missing({ apiVersion: 'v1' }) },
  [`${core}Volume`]: { complete: withVolumeSource },
  [`${core}ImageVolumeSource`]: {
    complete: (value) => missing({ pullPolicy: pullPolicyOf(value['reference']) })(value),
  },
  [`${core}SecretVolumeSource`]: { complete: missing({ defaultMode: fileMode }) },
  [`${core}ConfigMapVolumeSource`]: { complete: missing({ defaultMode: fileMode }) },
  [`${core}DownwardAPIVolumeSource`]: { complete: missing({ defaultMode: fileMode }) },
  [`${core}ProjectedVolumeSource`]: { complete: missing({ defaultMode: fileMode }) },
  [`${core}ServiceAccountTokenProjection`]: { complete: missing({ expirationSeconds: 3600 }) },
}

function withPullPolicy(value: JsonObject): JsonObject {
  return missing({ imagePullPolicy: pullPolicyOf(value['image']) })(container(value))
}

/** A volume without a source is an empty directory. */
function withVolumeSource(value: JsonObject): JsonObject {
  const hasSource = Object.entries(value).some(([field, source]) => field !== 'name' && source !== null)
  return hasSource ? value : { ...value, emptyDir: {} }
}

/** `Always` for images that may change under the same name: no tag, or `latest`. */
function pullPolicyOf(image: unknown): string {
  if (typeof image !== 'string') return 'IfNotPresent'
  const last = image.slice(image.lastIndexOf('/') + 1)
  const colon = last.indexOf(':')
  const isTagged = colon >= 0 && colon < last.length - 1
  return image.endsWith(':latest') || !(isTagged || image.includes('@')) ? 'Always' : 'IfNotPresent'
}
