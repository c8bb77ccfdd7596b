import { posix } from 'node:path'
import { SluiceError } from '../../foundation/errors.ts'
import { type KnownModels, type ModelSource, knownModels } from './known-models.ts'

/** One file of a model, and where it can be downloaded. */
export interface ModelFile {
  readonly fileName: string
  /** The checksum of the finished file, if it is known. */
  readonly sha256: string | undefined
  readonly bytes: number | undefined
  /** In the order in which they are tried. */
  readonly sources: readonly ModelSource[]
}

export interface ModelAddress {
  /** The name of the model on this machine. */
  readonly name: string
  readonly files: readonly ModelFile[]
  /** The contents of small files that belong beside the model, by name. */
  readonly companions: Readonly<Record<string, string>>
}

export interface AddressOptions {
  readonly models?: KnownModels | undefined
  /** The checksum that the user expects. */
  readonly sha256?: string | undefined
  /** The server for `hf:` addresses and known models, if it is not Hugging Face itself but a mirror. */
  readonly huggingFace?: string | undefined
}

const huggingFaceAddress = 'https://huggingface.co'
const hfForm = /^hf:([\w.-]+)\/([\w.-]+?)(?:@([\w.-]+))?\/([\w./ +-]+\.gguf)(?:@([\w./-]+))?$/
const shardForm = /^(.*)-00001-of-(\d{5})\.gguf$/

/**
 * Reads `smollm2`, `hf:org/repo/file.gguf` (with `@revision` after it or after the repository) and
 * `https://…/file.gguf`.
 */
export function readModelAddress(text: string, options: AddressOptions = {}): ModelAddress {
  const models = options.models ?? knownModels
  const known = Object.hasOwn(models, text) ? models[text] : undefined
  if (known) {
    const { companions, ...file } = known
    const sources = file.sources.map((source) => throughMirror(source, options.huggingFace))
    return { name: text, files: [{ ...file, sources, sha256: options.sha256 ?? file.sha256 }], companions }
  }
  if (text.startsWith('hf:')) return fromHuggingFace(text, options)
  if (/^https?:/.test(text)) return fromUrl(text, options)
  throw new SluiceError('model_source_unknown', {
    name: text,
    known: `${Object.keys(models).join(', ')}, or an address: hf:ORG/REPO/FILE.gguf, https://HOST/FILE.gguf`,
  })
}

function fromHuggingFace(text: string, options: AddressOptions): ModelAddress {
  const found = hfForm.exec(text)
  const [, org, repository, revisionOfRepository, path = '', revisionOfFile] = found ?? []
  if (!found || path.split('/').includes('..') || (revisionOfRepository && revisionOfFile)) {
    throw invalid(`${text} is not of the form hf:ORG/REPO/FILE.gguf or hf:ORG/REPO/FILE.gguf@REVISION.`)
  }
  const revision = encodeURIComponent(revisionOfRepository ?? revisionOfFile ?? 'main')
  const base = (options.huggingFace ?? huggingFaceAddress).replace(/\/$/, '')
  const toUrl = (file: string) =>
    `${base}/${org}/${repository}/resolve/${revision}/${file.split('/').map(encodeURIComponent).join('/')}`
  return addressOf(path, toUrl, 'Hugging Face', options)
}

function throughMirror(source: ModelSource, mirror: string | undefined): ModelSource {
  if (mirror === undefined || source.type !== 'https' || !source.url.startsWith(`${huggingFaceAddress}/`)) return source
  return { ...source, url: mirror.replace(/\/$/, '') + source.url.slice(huggingFaceAddress.length) }
}

function fromUrl(text: string, options: AddressOptions): ModelAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !url.pathname.endsWith('.gguf')) throw invalid(`${text} is not the address of a .gguf file.`)
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) throw invalid('An address must begin with https://.')
  if (url.username || url.password) throw invalid('An address must not carry a password.')
  const toUrl = (file: string) => {
    const sibling = new URL(url)
    sibling.pathname = file.split('/').map(encodeURIComponent).join('/')
    return sibling.href
  }
  return addressOf(decodeURIComponent(url.pathname), toUrl, url.host, options)
}

/** The address of a model with all its files. For a split model, naming the first part means all parts. */
function addressOf(
  path: string,
  toUrl: (path: string) => string,
  label: string,
  options: AddressOptions,
): ModelAddress {
  const [, stem, count] = shardForm.exec(path) ?? []
  const paths =
    stem === undefined || count === undefined
      ? [path]
      : Array.from(
          { length: Number(count) },
          (_, part) => `${stem}-${String(part + 1).padStart(5, '0')}-of-${count}.gguf`,
        )
  if (paths.length > 1 && options.sha256 !== undefined) {
    throw invalid('--sha256 is for models of one file; this one is split into several.')
  }
  const files = paths.map((one) => ({
    fileName: posix.basename(one),
    sha256: options.sha256,
    bytes: undefined,
    sources: [{ type: 'https', label, url: toUrl(one) } as const],
  }))
  const name = posix.basename(stem ?? path.replace(/\.gguf$/, '')).toLowerCase()
  return {
    name: name.replaceAll(/[^a-z0-9.-]+/g, '-').replaceAll(/^[.-]+|[.-]+$/g, '') || 'model',
    files,
    companions: {},
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

function invalid(reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag: 'MODEL', reason })
}
