import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { memorySettings } from '../../src/platform/images/own-program.ts'
import { FileTree } from './file-tree.ts'
import { imageUser } from './image-layers.ts'
import { artefactTime, program } from './repository.ts'
import { tarArchive } from './tar-archive.ts'

/** Of an image with files: what it is called, and what it runs. */
export interface NewImage {
  readonly name: string
  readonly description: string
  readonly entrypoint: readonly string[]
  readonly layers: readonly Layer[]
  /** Variables besides those of every image. */
  readonly env?: Readonly<Record<string, string>>
}

export interface Layer {
  /** Of the packed and of the plain archive. */
  readonly digest: string
  readonly plainDigest: string
  readonly packed: Buffer
}

const media = 'application/vnd.oci.image'
/**
 * Where the chart looks for images unless it is told otherwise: a node that imported the file needs no registry. Names
 * without a registry are not found there.
 */
const chartRegistry = 'registry.local-1.localhost'
const created = new Date(artefactTime * 1000).toISOString()

export async function packLayer(tree: FileTree): Promise<Layer> {
  const plain = tarArchive(tree, artefactTime)
  // Beside others, on another core.
  const packed = await promisify(gzip)(plain, { level: 6 })
  return { digest: digestOf(packed), plainDigest: digestOf(plain), packed }
}

/** The images of one kind of machine. */
export interface ImagesOf {
  readonly architecture: string
  readonly images: readonly NewImage[]
}

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

/**
 * An OCI layout as one archive, which every container engine takes. Layers that images share are in it once. Of an
 * image for several kinds of machine there is an index, from which each machine takes its own.
 */
export function ociArchive(builds: readonly ImagesOf[]): Buffer {
  const tree = new FileTree().addText('oci-layout', '{"imageLayoutVersion":"1.0.0"}')
  const blobs = new Map<string, Buffer>()
  const add = (content: Buffer, mediaType: string): Descriptor => {
    const digest = digestOf(content)
    blobs.set(digest, content)
    return { mediaType, digest, size: content.length }
  }
  const byName = new Map<string, Descriptor[]>()
  for (const { architecture, images } of builds) {
    for (const image of images) {
      const layers = image.layers.map(({ packed }) => add(packed, `${media}.layer.v1.tar+gzip`))
      const config = add(json(configOf(image, architecture)), `${media}.config.v1+json`)
      const manifest = { schemaVersion: 2, mediaType: `${media}.manifest.v1+json`, config, layers }
      const descriptor = { ...add(json(manifest), manifest.mediaType), platform: { os: 'linux', architecture } }
      byName.set(image.name, [...(byName.get(image.name) ?? []), descriptor])
    }
  }
  const manifests = [...byName].map(([name, [first, ...others]]) => ({
    ...(first && others.length === 0 ? first : add(json(indexOf([first, ...others])), `${media}.index.v1+json`)),
    annotations: {
      'org.opencontainers.image.ref.name': name,
      'io.containerd.image.name': `${chartRegistry}/${name}`,
    },
  }))
  tree.addText('index.json', json(indexOf(manifests)).toString())
  for (const [digest, content] of blobs) tree.addBytes(`blobs/${digest.replace(':', '/')}`, content)
  return tarArchive(tree, artefactTime)
}

function indexOf(manifests: ReadonlyArray<Descriptor | undefined>): object {
  return { schemaVersion: 2, mediaType: `${media}.index.v1+json`, manifests }
}

function configOf({ description, entrypoint, layers, env = {} }: NewImage, architecture: string): object {
  return {
    architecture,
    os: 'linux',
    created,
    config: {
      User: `${imageUser}:${imageUser}`,
      Env: [
        'PATH=/usr/bin:/bin',
        'HOME=/home/sluice',
        'NODE_ENV=production',
        ...Object.entries({ ...memorySettings, ...env }).map(([name, value]) => `${name}=${value}`),
      ],
      Entrypoint: entrypoint,
      WorkingDir: '/home/sluice',
      Labels: {
        'org.opencontainers.image.title': program.name,
        'org.opencontainers.image.description': description,
        'org.opencontainers.image.version': program.version,
        'org.opencontainers.image.licenses': program.license,
      },
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ plainDigest }) => plainDigest) },
    history: layers.map(() => ({ created, created_by: 'scripts/artefacts' })),
  }
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}
