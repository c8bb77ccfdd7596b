import { gzipSync, zstdCompressSync } from 'node:zlib'
import { type WrittenEntry, file, folder, sha256, symlink, writeTar } from '../tar/tar-writer.fixture.ts'

export interface WrittenImage {
  readonly layers: ReadonlyArray<readonly WrittenEntry[] | Buffer>
  readonly config?: Readonly<Record<string, unknown>>
  readonly architecture?: string
  readonly names?: readonly string[]
}

type Packer = (layer: Buffer) => Buffer
export const packers = { plain: (layer: Buffer) => layer, gzip: gzipSync, zstd: zstdCompressSync } as const

const machine = { x64: 'amd64' }[process.arch as string] ?? process.arch
const layerTypes = new Map<Packer, string>([
  [packers.plain, 'tar'],
  [packers.gzip, 'tar+gzip'],
  [packers.zstd, 'tar+zstd'],
])

function layerOf(layer: readonly WrittenEntry[] | Buffer): Buffer {
  return Buffer.isBuffer(layer) ? layer : writeTar(layer)
}

export function configOf({ layers, config, architecture = machine }: WrittenImage): Buffer {
  const diffIds = layers.map((layer) => sha256(layerOf(layer)))
  const rootfs = { type: 'layers', diff_ids: diffIds }
  return Buffer.from(
    JSON.stringify({ os: 'linux', architecture, created: '2026-01-02T03:04:05Z', config: config ?? {}, rootfs }),
  )
}

/**
 * The format that `docker save` wrote for years: a folder for each layer, and links to layers that are already there.
 */
export function dockerArchive(images: readonly WrittenImage[]): Buffer {
  const entries: WrittenEntry[] = []
  const places = new Map<string, string>()
  const manifest = images.map((image, number) => {
    const config = configOf(image)
    const name = `${sha256(config).slice(7)}.json`
    entries.push(file(name, '', { content: config }))
    const paths = image.layers.map((layer, index) => {
      const content = layerOf(layer)
      const place = `${String(number)}${String(index)}`.padEnd(64, '0')
      const known = places.get(sha256(content))
      entries.push(folder(`${place}/`), file(`${place}/VERSION`, '1.0'))
      if (known === undefined) entries.push(file(`${place}/layer.tar`, '', { content }))
      else entries.push(symlink(`${place}/layer.tar`, `../${known}/layer.tar`))
      places.set(sha256(content), known ?? place)
      return `${place}/layer.tar`
    })
    return { Config: name, RepoTags: image.names ?? null, Layers: paths }
  })
  return writeTar([...entries, file('manifest.json', JSON.stringify(manifest))])
}

export interface OciOptions {
  readonly packer?: Packer
  /** As docker writes it: with whole names, and with its own manifest.json beside the index. */
  readonly docker?: boolean
  /** Puts all images, each for another platform, behind one entry of the index. */
  readonly asList?: boolean
  readonly refName?: string
  /** Damages a blob after everything was hashed. */
  readonly damage?: (digest: string, content: Buffer) => Buffer
}

/** The files of an OCI layout, by name. */
export function ociLayout(images: readonly WrittenImage[], options: OciOptions = {}): Map<string, Buffer> {
  const {
    packer = packers.plain,
    docker = false,
    asList = false,
    refName,
    damage = (_: string, content: Buffer) => content,
  } = options
  const files = new Map<string, Buffer>([['oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}')]])
  const put = (mediaType: string, content: Buffer) => {
    const digest = sha256(content)
    files.set(`blobs/sha256/${digest.slice(7)}`, damage(digest, content))
    return { mediaType, digest, size: content.length }
  }
  const dockerEntries: unknown[] = []
  const manifests = images.map((image) => {
    const config = put('application/vnd.oci.image.config.v1+json', configOf(image))
    const type = `application/vnd.oci.image.layer.v1.${layerTypes.get(packer) ?? 'tar'}`
    const layers = image.layers.map((layer) => put(type, packer(layerOf(layer))))
    const content = JSON.stringify({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config,
      layers,
    })
    const path = (digest: string) => `blobs/sha256/${digest.slice(7)}`
    dockerEntries.push({
      Config: path(config.digest),
      RepoTags: image.names ?? null,
      Layers: layers.map(({ digest }) => path(digest)),
    })
    const [name] = image.names ?? []
    const annotations = docker
      ? { 'io.containerd.image.name': `docker.io/library/${name ?? ''}`, 'org.opencontainers.image.ref.name': 'latest' }
      : { 'org.opencontainers.image.ref.name': refName ?? name ?? 'latest' }
    const described = put('application/vnd.oci.image.manifest.v1+json', Buffer.from(content))
    return asList
      ? { ...described, platform: { os: 'linux', architecture: image.architecture ?? machine } }
      : { ...described, annotations }
  })
  const list = () => {
    const unknown = {
      ...put('application/vnd.oci.image.manifest.v1+json', Buffer.from('{}')),
      platform: { os: 'unknown', architecture: 'unknown' },
    }
    const content = JSON.stringify({ schemaVersion: 2, manifests: [unknown, ...manifests] })
    const described = put('application/vnd.oci.image.index.v1+json', Buffer.from(content))
    return [{ ...described, annotations: { 'io.containerd.image.name': images[0]?.names?.[0] ?? 'none' } }]
  }
  files.set('index.json', Buffer.from(JSON.stringify({ schemaVersion: 2, manifests: asList ? list() : manifests })))
  if (docker) files.set('manifest.json', Buffer.from(JSON.stringify(dockerEntries)))
  return files
}

export function ociArchive(images: readonly WrittenImage[], options: OciOptions = {}): Buffer {
  return writeTar([...ociLayout(images, options)].map(([name, content]) => file(name, '', { content })))
}
