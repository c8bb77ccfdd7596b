/** The operating system and architecture an image is for. */
export interface ImagePlatform {
  readonly os: string
  readonly architecture: string
  readonly variant?: string | undefined
}

/** Architectures that Node names differently than Go, whose names images use. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' }

export function machinePlatform(arch: string = process.arch): ImagePlatform {
  return { os: 'linux', architecture: architectures[arch] ?? arch }
}

/** Parses `linux/arm64` or `linux/arm/v7`; `undefined` for anything else. */
export function parsePlatform(text: string): ImagePlatform | undefined {
  const [os, architecture, variant, ...more] = text.split('/')
  if (!os || !architecture || variant === '' || more.length > 0) return undefined
  return variant === undefined ? { os, architecture } : { os, architecture, variant }
}

export function platformText({ os, architecture, variant }: ImagePlatform): string {
  return [os, architecture, ...(variant ? [variant] : [])].join('/')
}

/** Compares variants only when both have one; `arm64` and `arm64/v8` are the same. */
export function platformFits(offered: ImagePlatform, wanted: ImagePlatform): boolean {
  if (offered.os !== wanted.os || offered.architecture !== wanted.architecture) return false
  return !offered.variant || !wanted.variant || offered.variant === wanted.variant
}
