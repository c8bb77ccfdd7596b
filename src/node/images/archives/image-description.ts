import { ArchiveFault } from '../tar/archive-fault.ts'
import { type Digest, requireDigest } from './digest.ts'
import { type ConfigDocument, configSchema, readDocument } from './image-documents.ts'
import { type ImagePlatform, platformFits, platformText } from './image-platform.ts'

/** One layer: where its bytes are, what they hash to, and what they hash to once they are unpacked. */
export interface LayerDescription {
  readonly path: string
  /** Old archives say nothing of the packed bytes. */
  readonly digest: Digest | undefined
  readonly diffId: Digest
}

/** An image as its archive describes it; nothing of it has been unpacked. */
export interface ImageDescription {
  /** What hash its configuration has: the image's own name among all images. */
  readonly id: Digest
  /** As the archive calls it; not looked at yet. */
  readonly names: readonly string[]
  /** What `name@sha256:…` may say. */
  readonly digests: readonly string[]
  readonly config: Buffer
  readonly platform: ImagePlatform
  readonly layers: readonly LayerDescription[]
}

interface DescribedParts {
  readonly id: Digest
  readonly config: Buffer
  readonly names: readonly string[]
  readonly digests: readonly string[]
  readonly layers: ReadonlyArray<{ readonly path: string; readonly digest: Digest | undefined }>
}

/** Puts together what manifest and configuration say, and sees that they agree. The configuration has been verified. */
export function describeImage(parts: DescribedParts, wanted: ImagePlatform): ImageDescription {
  const document = readDocument(configSchema, parts.config, "the image's configuration")
  const platform = platformOf(document)
  if (!platformFits(platform, wanted)) {
    throw new ArchiveFault(
      `it is for ${platformText(platform)}, not ${platformText(wanted)} (--platform takes another)`,
    )
  }
  const diffIds = document.rootfs.diff_ids ?? []
  if (diffIds.length !== parts.layers.length) {
    throw new ArchiveFault(`it has ${parts.layers.length} layers, and its configuration names ${diffIds.length}`)
  }
  const layers = parts.layers.map((layer, index) => ({ ...layer, diffId: requireDigest(diffIds[index] ?? '') }))
  return { ...parts, platform, layers }
}

function platformOf({ os, architecture, variant }: ConfigDocument): ImagePlatform {
  return variant ? { os, architecture, variant } : { os, architecture }
}
