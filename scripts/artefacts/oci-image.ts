import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
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
}

export interface Layer {
  /** Of the packed and of the plain archive. */
  readonly digest: string
  readonly plainDigest: string
  readonly packed: Buffer
}

const media = 'application/vnd.oci.image'
const created = new Date(artefactTime * 1000).toISOString()

export function packLayer(tree: FileTree): Layer {
  const plain = tarArchive(tree, artefactTime)
  const packed = gzipSync(plain, { level: 6 })
  return { digest: digestOf(packed), plainDigest: digestOf(plain), packed }
}

/** An OCI layout as one archive, which every container engine takes. Layers that images share are in it once. */
export function ociArchive(images: readonly NewImage[], architecture: string): Buffer {
  const tree = new FileTree().addText('oci-layout', '{"imageLayoutVersion":"1.0.0"}')
  const blobs = new Map<string, Buffer>()
  const add = (content: Buffer, mediaType: string) => {
    const digest = digestOf(content)
    blobs.set(digest, content)
    return { mediaType, digest, size: content.length }
  }
  const manifests = images.map((image) => {
    const { name } = image
    const layers = image.layers.map(({ packed }) => add(packed, `${media}.layer.v1.tar+gzip`))
    const config = add(json(configOf(image, architecture)), `${media}.config.v1+json`)
    const manifest = { schemaVersion: 2, mediaType: `${media}.manifest.v1+json`, config, layers }
    return {
      ...add(json(manifest), `${media}.manifest.v1+json`),
      platform: { os: 'linux', architecture },
      annotations: { 'org.opencontainers.image.ref.name': name, 'io.containerd.image.name': name },
    }
  })
  tree.addText('index.json', json({ schemaVersion: 2, mediaType: `${media}.index.v1+json`, manifests }).toString())
  for (const [digest, content] of blobs) tree.addBytes(`blobs/${digest.replace(':', '/')}`, content)
  return tarArchive(tree, artefactTime)
}

function configOf({ description, entrypoint, layers }: NewImage, architecture: string): object {
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
        // As bin/sluice has it: what large answers took goes back soon after.
        'MALLOC_ARENA_MAX=1',
        'MALLOC_MMAP_THRESHOLD_=4194304',
        'MALLOC_TRIM_THRESHOLD_=8388608',
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
