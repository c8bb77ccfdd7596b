import type { Clock } from '../../foundation/clock.ts'
import type { Pod } from '../../resources/pod.ts'
import type { PodFacts } from '../environment/downward-fields.ts'
import { type PodVolume, podVolumes } from '../pods/pod-parts.ts'
import { type ReferencedObjects, namesInVolumes } from '../environment/referenced-objects.ts'
import { type VolumeFiles, VolumeNotReady, isFilledFromCluster, projectionsOf, volumeFiles } from './volume-files.ts'

/** Makes tokens for a Pod's service account. The control plane, which has the key, provides it. */
export type Tokens = (pod: Pod, audience: string | undefined, expirationSeconds: number) => Promise<string>

export interface PodVolumesOptions {
  readonly clock: Clock
  readonly tokens: Tokens | undefined
  references(pod: Pod, signal: AbortSignal): Promise<ReferencedObjects>
  write(volume: string, files: VolumeFiles): Promise<boolean>
}

interface IssuedToken {
  readonly token: string
  readonly renewAt: number
}

/**
 * Fills the volumes of one Pod that come from the cluster (ConfigMaps, Secrets, tokens, fields): before its containers
 * start, and again when something changes.
 */
export class PodVolumes {
  readonly #options: PodVolumesOptions
  /** By volume and path. */
  readonly #tokens = new Map<string, IssuedToken>()
  #stale = true

  constructor(options: PodVolumesOptions) {
    this.#options = options
  }

  /** Tells that something in the volumes has changed. */
  invalidate(): void {
    this.#stale = true
  }

  get isStale(): boolean {
    return this.#stale
  }

  /** When the next token must be renewed; `undefined` if there is none. */
  get renewAt(): number | undefined {
    const times = [...this.#tokens.values()].map(({ renewAt }) => renewAt)
    return times.length > 0 ? Math.min(...times) : undefined
  }

  /**
   * Writes what has changed, and returns the volumes that did. Throws `VolumeNotReady`, naming the volume, if something
   * is missing.
   */
  async refresh(pod: Pod, facts: PodFacts, signal: AbortSignal): Promise<readonly string[]> {
    const due = (this.renewAt ?? Infinity) <= this.#options.clock.now()
    if (!this.#stale && !due) return []
    // Reset first: a change while this runs makes it stale again.
    this.#stale = false
    try {
      return await this.#fill(pod, facts, signal)
    } catch (error) {
      this.#stale = true
      throw error
    }
  }

  async #fill(pod: Pod, facts: PodFacts, signal: AbortSignal): Promise<readonly string[]> {
    const volumes = podVolumes(pod).filter(isFilledFromCluster)
    if (volumes.length === 0) return []
    const names = namesInVolumes(pod)
    const references =
      names.configMaps.size + names.secrets.size === 0 ? undefined : await this.#options.references(pod, signal)
    const changed: string[] = []
    for (const volume of volumes) {
      const tokens = await this.#tokensOf(pod, volume)
      const sources = { pod, facts, references: references ?? { configMaps: new Map(), secrets: new Map() }, tokens }
      if (await this.#options.write(volume.name, filesOf(volume, sources))) changed.push(volume.name)
    }
    return changed
  }

  async #tokensOf(pod: Pod, volume: PodVolume): Promise<Map<string, string>> {
    const tokens = new Map<string, string>()
    for (const { serviceAccountToken: asked } of projectionsOf(volume)) {
      if (!asked) continue
      const key = `${volume.name}/${asked.path}`
      const known = this.#tokens.get(key)
      const issued = known && known.renewAt > this.#options.clock.now() ? known : await this.#issue(pod, volume, asked)
      this.#tokens.set(key, issued)
      tokens.set(asked.path, issued.token)
    }
    return tokens
  }

  async #issue(
    pod: Pod,
    volume: PodVolume,
    asked: { readonly audience?: string | undefined; readonly expirationSeconds: number },
  ): Promise<IssuedToken> {
    const { tokens, clock } = this.#options
    const { audience, expirationSeconds } = asked
    if (!tokens) throw new VolumeNotReady(`volume "${volume.name}": this node makes no service account tokens`)
    const token = await tokens(pod, audience, expirationSeconds).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      const message = `MountVolume.SetUp failed for volume "${volume.name}" : failed to fetch token: ${why}`
      throw new VolumeNotReady(message, { cause: error })
    })
    // With a fifth of its life left, so that whoever has read the old one can still use it.
    return { token, renewAt: clock.now() + expirationSeconds * 800 }
  }
}

function filesOf(volume: PodVolume, sources: Parameters<typeof volumeFiles>[1]): VolumeFiles {
  try {
    return volumeFiles(volume, sources)
  } catch (error) {
    if (!(error instanceof VolumeNotReady)) throw error
    throw new VolumeNotReady(`MountVolume.SetUp failed for volume "${volume.name}" : ${error.message}`, {
      cause: error,
    })
  }
}
