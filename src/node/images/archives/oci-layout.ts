import { ArchiveFault } from '../tar/archive-fault.ts'
import { digestText, requireDigest, verifyWhole } from './digest.ts'
import { type ImageDescription, describeImage } from './image-description.ts'
import { type Descriptor, indexSchema, manifestSchema, readDocument } from './image-documents.ts'
import { type ImagePlatform, platformFits, platformText } from './image-platform.ts'
import type { ImageSource } from './image-source.ts'

const indexTypes = new Set([
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
])
const configTypes = new Set([
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
])
const layerType =
  /^application\/vnd\.(?:oci\.image\.layer(?:\.nondistributable)?\.v1\.tar(?:\+gzip|\+zstd)?|docker\.image\.rootfs\.(?:diff|foreign\.diff)\.tar(?:\.gzip|\.zstd)?)$/
const refName = 'org.opencontainers.image.ref.name'
/** The deepest nesting of indexes that is followed. */
const deepestIndex = 4

/**
 * The images of an OCI layout for the wanted platform, one for each entry of `index.json`; with `ref`, only those with
 * that reference.
 */
export async function readOciLayout(
  source: ImageSource,
  wanted: ImagePlatform,
  ref: string | undefined,
): Promise<ImageDescription[]> {
  const content = await source.document('index.json')
  if (!content) throw new ArchiveFault('it lacks "index.json"')
  const all = readDocument(indexSchema, content, '"index.json"').manifests
  const manifests = ref === undefined ? all : all.filter(({ annotations }) => annotations?.[refName] === ref)
  if (ref !== undefined && manifests.length === 0) {
    const refs = all.flatMap(({ annotations }) => annotations?.[refName] ?? []).slice(0, 20)
    throw new ArchiveFault(`it has no image ${JSON.stringify(ref)}, but ${JSON.stringify(refs)}`)
  }
  const images: ImageDescription[] = []
  let passedOver: string | undefined
  for (const entry of manifests) {
    const offered = entry.platform
    if (offered && !indexTypes.has(entry.mediaType ?? '') && !platformFits(plain(offered), wanted)) {
      passedOver = `it has nothing for ${platformText(wanted)}, but for ${platformText(plain(offered))}`
      continue
    }
    images.push(await readEntry(source, entry, wanted))
  }
  if (images.length === 0) throw new ArchiveFault(passedOver ?? 'its index names no image')
  return images
}

async function readEntry(source: ImageSource, entry: Descriptor, wanted: ImagePlatform): Promise<ImageDescription> {
  const digests: string[] = []
  let chosen = entry
  for (let depth = 0; ; depth += 1) {
    digests.push(chosen.digest)
    const content = await readBlob(source, chosen)
    const isIndex = indexTypes.has(chosen.mediaType ?? '')
    if (!isIndex) return readManifest(source, content, { digests, names: namesOf(entry) }, wanted)
    if (depth >= deepestIndex) throw new ArchiveFault('its lists of images are nested too deep')
    chosen = choose(readDocument(indexSchema, content, 'a list of images').manifests, wanted)
  }
}

/**
 * The image for the wanted platform. Indexes may also contain other things, such as attestations, with the platform
 * "unknown".
 */
function choose(manifests: readonly Descriptor[], wanted: ImagePlatform): Descriptor {
  const fitting = manifests.filter(({ platform }) => platform && platformFits(plain(platform), wanted))
  const [only, ...others] = manifests
  const chosen = fitting[0] ?? (only && others.length === 0 && !only.platform ? only : undefined)
  if (chosen) return chosen
  const offered = manifests.flatMap(({ platform }) => (platform ? [platformText(plain(platform))] : []))
  throw new ArchiveFault(
    `it has nothing for ${platformText(wanted)}, but for ${offered.slice(0, 20).join(', ') || 'none'}`,
  )
}

async function readManifest(
  source: ImageSource,
  content: Buffer,
  entry: { readonly digests: readonly string[]; readonly names: readonly string[] },
  wanted: ImagePlatform,
): Promise<ImageDescription> {
  const { config, layers } = readDocument(manifestSchema, content, "the image's manifest")
  if (!configTypes.has(config.mediaType ?? '')) {
    throw new ArchiveFault(`it is no image of a container: its configuration is ${JSON.stringify(config.mediaType)}`)
  }
  const foreign = layers.find(({ mediaType }) => !layerType.test(mediaType ?? ''))
  if (foreign)
    throw new ArchiveFault(`a layer has the type ${JSON.stringify(foreign.mediaType)}, which is not known here`)
  for (const layer of layers) await requireSize(source, layer)
  const parts = {
    ...entry,
    id: requireDigest(config.digest),
    config: await readBlob(source, config),
    layers: layers.map((layer) => ({ path: blobPath(layer), digest: requireDigest(layer.digest) })),
  }
  return describeImage(parts, wanted)
}

async function readBlob(source: ImageSource, descriptor: Descriptor): Promise<Buffer> {
  await requireSize(source, descriptor)
  const content = await source.document(blobPath(descriptor))
  if (!content) throw new ArchiveFault(`it lacks ${descriptor.digest}`)
  verifyWhole(content, requireDigest(descriptor.digest), blobPath(descriptor))
  return content
}

async function requireSize(source: ImageSource, descriptor: Descriptor): Promise<void> {
  const path = blobPath(descriptor)
  const size = await source.size(path)
  if (size === undefined) throw new ArchiveFault(`it lacks ${digestText(requireDigest(descriptor.digest))}`)
  if (size !== descriptor.size)
    throw new ArchiveFault(`${path} has ${size} bytes, not ${descriptor.size}: it is damaged`)
}

function blobPath({ digest }: Descriptor): string {
  const { algorithm, hex } = requireDigest(digest)
  return `blobs/${algorithm}/${hex}`
}

/** containerd and docker give the whole name; others give a reference, which may be only a tag. */
function namesOf({ annotations }: Descriptor): string[] {
  const whole = annotations?.['io.containerd.image.name']
  if (whole !== undefined) return [whole]
  const reference = annotations?.[refName]
  return reference !== undefined && /[/:]/.test(reference) ? [reference] : []
}

function plain({ os, architecture, variant }: NonNullable<Descriptor['platform']>): ImagePlatform {
  return variant ? { os, architecture, variant } : { os, architecture }
}
