import { ArchiveFault, pathOf, shownPath } from '../tar/archive-fault.ts'
import { requireDigest, sha256Of } from './digest.ts'
import { type ImageDescription, describeImage } from './image-description.ts'
import { dockerManifestSchema, readDocument } from './image-documents.ts'
import type { ImagePlatform } from './image-platform.ts'
import type { ImageSource } from './image-source.ts'

/**
 * Reads docker's own archive format, which `docker save` wrote before OCI layouts and `skopeo copy docker-archive:`
 * still writes. The configuration's file is named after its digest; the configuration lists the digests of the layers.
 */
export async function readDockerArchive(source: ImageSource, wanted: ImagePlatform): Promise<ImageDescription[]> {
  const content = await source.document('manifest.json')
  if (!content) throw new ArchiveFault('it lacks "manifest.json"')
  const manifest = readDocument(dockerManifestSchema, content, '"manifest.json"')
  if (manifest.length === 0) throw new ArchiveFault('its "manifest.json" names no image')
  const images: ImageDescription[] = []
  for (const { Config, RepoTags, Layers } of manifest) {
    const config = await source.document(pathOf(Config))
    if (!config) throw new ArchiveFault(`it lacks ${shownPath(pathOf(Config))}`)
    const id = sha256Of(config)
    const [said] = /[0-9a-f]{64}/.exec(Config) ?? []
    if (said !== undefined && said !== id.hex) {
      throw new ArchiveFault(`${shownPath(Config)} has the digest sha256:${id.hex}: it is damaged`)
    }
    const layers: Array<{ path: string; digest: undefined }> = []
    for (const layer of Layers ?? []) {
      const path = pathOf(layer)
      if ((await source.size(path)) === undefined) throw new ArchiveFault(`it lacks ${shownPath(path)}`)
      layers.push({ path, digest: undefined })
    }
    images.push(describeImage({ id, config, names: RepoTags ?? [], digests: [], layers }, wanted))
  }
  return images
}

/** The names that docker's manifest gives in an archive that is also an OCI layout, by image digest. */
export async function dockerNames(source: ImageSource): Promise<ReadonlyMap<string, readonly string[]>> {
  const content = await source.document('manifest.json')
  if (!content) return new Map()
  const entries = readDocument(dockerManifestSchema, content, '"manifest.json"')
  return new Map(
    entries.flatMap(({ Config, RepoTags }) => {
      const [hex] = /[0-9a-f]{64}/.exec(Config) ?? []
      return hex === undefined ? [] : [[requireDigest(`sha256:${hex}`).hex, RepoTags ?? []] as const]
    }),
  )
}
