import { modelLabel } from './model-labels.ts'
import type { Pod } from './pod.ts'
import type { Secret } from './secret.ts'

/** The type of the Secrets that hold the keys between the gateway and a Model's engines. */
export const engineKeysType = 'sluice.dev/engine-keys'

/** The name of the Secret with a Model's engine keys. */
export function engineKeysName(model: string): string {
  return `model-${model}-keys`
}

/** The variable through which a container gets a key; it also shows which key a Pod was started with. */
export function engineKeyVariable(variable: string, model: string, id: string) {
  return { name: variable, valueFrom: { secretKeyRef: { name: engineKeysName(model), key: id } } }
}

/** Which of its Model's keys a Pod was started with; undefined when it has none. */
export function engineKeyId(pod: Pod): string | undefined {
  const secret = engineKeysName(pod.metadata.labels?.[modelLabel] ?? '')
  for (const { env } of pod.spec.containers) {
    for (const { valueFrom } of env ?? []) {
      const ref: unknown = valueFrom?.['secretKeyRef']
      if (isKeyRef(ref) && ref.name === secret) return ref.key
    }
  }
  return undefined
}

/** A key as it is sent; undefined when there is none, or when the value is not one of our keys. */
export function engineKeyIn(secret: Secret | undefined, id: string): string | undefined {
  const data = secret?.type === engineKeysType ? secret.data : undefined
  const text = data && Object.hasOwn(data, id) ? data[id] : undefined
  const key = text === undefined ? '' : Buffer.from(text, 'base64').toString('latin1')
  return /^[\w-]{16,256}$/.test(key) ? key : undefined
}

function isKeyRef(ref: unknown): ref is { readonly name: string; readonly key: string } {
  return (
    typeof ref === 'object' &&
    ref !== null &&
    'name' in ref &&
    'key' in ref &&
    typeof ref.name === 'string' &&
    typeof ref.key === 'string'
  )
}
