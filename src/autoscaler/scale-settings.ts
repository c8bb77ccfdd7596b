import type { Model } from '../resources/model.ts'
import { idleWindowAnnotation } from '../resources/model-labels.ts'
import { type ScaleSettings, downWindowMs } from './decide.ts'

export interface ScaleDefaults {
  readonly idleWindowMs: number
}

/** The Model's own settings, or else the gateway's. */
export function scaleSettings(model: Model, defaults: ScaleDefaults): ScaleSettings {
  const { minReplicas, maxReplicas, targetRequests, scaleDownDelaySeconds } = model.spec
  return {
    minReplicas,
    maxReplicas,
    targetRequests,
    scaleDownDelayMs: scaleDownDelaySeconds * 1000,
    idleWindowMs: annotatedIdleWindowMs(model) ?? defaults.idleWindowMs,
  }
}

/** How far back a decision may look. */
export function historyMs({ idleWindowMs, scaleDownDelayMs }: ScaleSettings): number {
  return Math.max(idleWindowMs, downWindowMs) + scaleDownDelayMs
}

/** Anything but a number of seconds is ignored: a typo must not take away a model's Pods. */
function annotatedIdleWindowMs(model: Model): number | undefined {
  const text = model.metadata.annotations?.[idleWindowAnnotation]
  return text !== undefined && /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) * 1000 : undefined
}
