/** On every Pod of a Model: the Model's name. */
export const modelLabel = 'sluice.dev/model'

/** On every Pod of a Model: a hash of what the Pod was created from, so that a changed Model is noticed. */
export const modelHashLabel = 'sluice.dev/spec-hash'

/** On a Pod that is being drained: since when (RFC 3339). It gets no new requests. */
export const drainingAnnotation = 'sluice.dev/draining-since'

/** On a Model: seconds without a request until its last Pods go, instead of the gateway's default. */
export const idleWindowAnnotation = 'sluice.dev/idle-window-seconds'

/**
 * On a Pod of a Model: how many requests its engine accepts at a time before it refuses more; the others wait at the
 * gateway.
 */
export const requestCapacityAnnotation = 'sluice.dev/request-capacity'

/** The name of the container port that serves the OpenAI API. */
export const enginePortName = 'http'

export const gatewayNamespace = 'sluice'
export const gatewayServiceName = 'gateway'

/**
 * The ServiceAccount of controllers that run in the cluster: besides a `sluice up` itself, only they make Models' Pods.
 */
export const controllerAccount = 'sluice-controller'
export const controllerUser = `system:serviceaccount:${gatewayNamespace}:${controllerAccount}`
