import type { Pod } from '../../resources/pod.ts'
import { type PodFacts, fieldOf, resourceFieldOf } from '../environment/downward-fields.ts'
import type { DownwardItem, KeyToPath, PodVolume, Projection } from '../pods/pod-parts.ts'
import { type ReferencedObjects, configMapEntries, secretEntries } from '../environment/referenced-objects.ts'

export interface VolumeFile {
  readonly data: Buffer
  readonly mode: number
}

/** The files of a volume, by path. */
export type VolumeFiles = ReadonlyMap<string, VolumeFile>

export interface VolumeSources {
  readonly pod: Pod
  readonly facts: PodFacts
  readonly references: ReferencedObjects
  /** The tokens of this volume, by path. */
  readonly tokens: ReadonlyMap<string, string>
}

/** Why a volume cannot be filled now; it may work later. */
export class VolumeNotReady extends Error {
  override readonly name = 'VolumeNotReady'
}

const defaultFileMode = 0o644
/** The most bytes that one volume may take from the cluster. */
const mostBytes = 4 * 2 ** 20

/** Whether the volume's content comes from the cluster rather than from a folder. */
export function isFilledFromCluster(volume: PodVolume): boolean {
  return Boolean(volume.configMap ?? volume.secret ?? volume.downwardAPI ?? volume.projected)
}

/** The sources of a volume; a plain one counts as a projection with one source. */
export function projectionsOf(volume: PodVolume): readonly Projection[] {
  if (volume.projected) return volume.projected.sources
  if (volume.configMap) return [{ configMap: volume.configMap }]
  if (volume.downwardAPI) return [{ downwardAPI: volume.downwardAPI }]
  if (!volume.secret) return []
  const { secretName: name, items, optional } = volume.secret
  return [{ secret: { name, items, optional } }]
}

/** Computes the files of a volume. Throws `VolumeNotReady` if something is missing. */
export function volumeFiles(volume: PodVolume, sources: VolumeSources): VolumeFiles {
  const mode =
    (volume.configMap ?? volume.secret ?? volume.downwardAPI ?? volume.projected)?.defaultMode ?? defaultFileMode
  const files = new Map<string, VolumeFile>()
  let bytes = 0
  const add = (path: string, data: Buffer, fileMode: number | undefined) => {
    if (!isPathInside(path)) throw new VolumeNotReady(`"${path.slice(0, 200)}" is not a path inside the volume`)
    bytes += data.length
    if (bytes > mostBytes) throw new VolumeNotReady(`the volume holds more than ${mostBytes} bytes`)
    files.set(path, { data, mode: (fileMode ?? mode) & 0o777 })
  }
  for (const projection of projectionsOf(volume)) {
    const { configMap, secret, downwardAPI, serviceAccountToken } = projection
    if (configMap) {
      const object = sources.references.configMaps.get(configMap.name)
      if (!object && configMap.optional !== true) throw new VolumeNotReady(`configmap "${configMap.name}" not found`)
      addEntries(object ? configMapEntries(object) : new Map(), configMap, add)
    }
    if (secret) {
      const object = sources.references.secrets.get(secret.name)
      if (!object && secret.optional !== true) throw new VolumeNotReady(`secret "${secret.name}" not found`)
      addEntries(object ? secretEntries(object) : new Map(), secret, add)
    }
    for (const item of downwardAPI?.items ?? []) add(item.path, downwardValue(item, sources), item.mode)
    if (serviceAccountToken) {
      const token = sources.tokens.get(serviceAccountToken.path)
      if (token === undefined) throw new VolumeNotReady(`no token for ${serviceAccountToken.path}`)
      add(serviceAccountToken.path, Buffer.from(token), undefined)
    }
  }
  return files
}

function addEntries(
  entries: ReadonlyMap<string, Buffer>,
  source: { readonly items?: readonly KeyToPath[] | undefined; readonly optional?: boolean | undefined },
  add: (path: string, data: Buffer, mode: number | undefined) => void,
): void {
  if (!source.items) {
    for (const [key, data] of entries) add(key, data, undefined)
    return
  }
  for (const { key, path, mode } of source.items) {
    const data = entries.get(key)
    if (data) add(path, data, mode)
    else if (source.optional !== true) throw new VolumeNotReady(`references non-existent key: ${key}`)
  }
}

function downwardValue(item: DownwardItem, { pod, facts }: VolumeSources): Buffer {
  const value = item.fieldRef
    ? fieldOf(item.fieldRef.fieldPath, pod, facts)
    : item.resourceFieldRef && resourceFieldOf(item.resourceFieldRef, pod, undefined, facts)
  if (value !== undefined) return Buffer.from(value)
  const what = item.fieldRef?.fieldPath ?? item.resourceFieldRef?.resource ?? 'nothing'
  throw new VolumeNotReady(`${item.path}: the field ${what} is not supported on this node`)
}

/** Whether a path is relative, has no `..`, and does not clash with the folder's own names. */
function isPathInside(path: string): boolean {
  const segments = path.split('/')
  const plain = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..')
  return plain && !path.includes('\0') && !(segments[0] ?? '').startsWith('..')
}
