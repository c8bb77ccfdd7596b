import { ArchiveFault } from '../tar/archive-fault.ts'
import { type Digest, requireDigest } from './digest.ts'
import { type ConfigDocument, configSchema, readDocument } from './image-documents.ts'
import { type ImagePlatform, platformFits, platformText } from './image-platform.ts'

/** One layer: where its bytes are, and their hash before and after decompression. */
export interface LayerDescription {
  readonly path: string
  /** Of the compressed bytes; old archives do not give it. */
  readonly digest: Digest | undefined
  readonly diffId: Digest
}

/** An image as its archive describes it; nothing is unpacked yet. */
export interface ImageDescription {
  /** The digest of its configuration, which identifies the image. */
  readonly id: Digest
  /** Names from the archive, not validated yet. */
  readonly names: readonly string[]
  /** Digests that `name@sha256:…` may refer to it by. */
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

/**
 * Combines manifest and configuration, and checks that they agree. The configuration's digest has been verified before.
 */
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
