import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { elfFacts } from './elf-needs.ts'
import { lockedPackages } from './production-packages.ts'
import { root } from './repository.ts'

/** Where the parts of an image come from that differ between machines. */
export interface Platform {
  /** As container engines call it. */
  readonly architecture: string
  /** The file of the pinned Node. */
  readonly node: string
  /** The folder with the files of a package, named as in package-lock.json; undefined if it is not for this machine. */
  readonly packageAt: (folder: string) => string | undefined
  /** The libraries below Node and llama.cpp: where they are in the image, and the files. */
  readonly libraries: () => ReadonlyMap<string, string>
}

const engines = 'node_modules/@node-llama-cpp'
/** Not those for another C library than the pinned Node's. */
const isLibrary = (path: string) => /\.(node|so)(\.\d+)*$/.test(path) && !path.includes('musl_')

/** This machine, with what is installed on it. */
export function thisMachine(): Platform {
  const node = join(root, 'node_modules/node/bin/node')
  return {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    node,
    packageAt: (folder) => (existsSync(join(root, folder)) ? join(root, folder) : undefined),
    libraries: () => new Map(linkedLibraries([node, ...librariesBelow(join(root, engines))])),
  }
}

/** Another kind of machine, with what `fetch-platform.ts` has brought. */
export function fetchedPlatform(folder: string): Platform {
  const node = join(folder, 'node')
  const architecture = elfFacts(readFileSync(node))?.architecture ?? 'other'
  const own = (path: string) => join(folder, 'packages', path)
  return {
    architecture,
    node,
    packageAt(path) {
      if (existsSync(own(path))) return own(path)
      const isForOthers = lockedPackages[path]?.cpu !== undefined
      return isForOthers || !existsSync(join(root, path)) ? undefined : join(root, path)
    },
    libraries: () => neededLibraries([node, ...librariesBelow(own(''))], join(folder, 'libraries')),
  }
}

function librariesBelow(folder: string): readonly string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return paths.filter(isLibrary).map((path) => join(folder, path))
}

/** Where the loader finds what programs are linked with. Below /usr, as distributions have it. */
function linkedLibraries(programs: readonly string[]): ReadonlyArray<readonly [string, string]> {
  const found = programs.flatMap((path) => {
    const said = execFileSync('ldd', [path], { encoding: 'utf8' })
    return [...said.matchAll(/(?:=>\s+|^\s+)(\/\S+)\s+\(0x/gm)].map((match) => match[1] ?? '')
  })
  return [...new Set(found)]
    .filter((path) => !path.startsWith(root))
    .toSorted()
    .map((path) => [`usr${path.replace(/^\/usr\//, '/')}`, realpathSync(path)])
}

/** The same for programs that do not run here, from the unpacked packages of their distribution. */
function neededLibraries(programs: readonly string[], distribution: string): ReadonlyMap<string, string> {
  const paths = readdirSync(distribution, { recursive: true, encoding: 'utf8' })
  const places = new Map(
    paths.filter((path) => /\/[^/]+-linux-gnu\/[^/]+$/.test(path)).map((path) => [basename(path), path]),
  )
  const bundled = new Set(programs.map((path) => basename(path)))
  const found = new Map<string, string>()
  const visit = (file: string) => {
    const { needs = [], loader } = elfFacts(readFileSync(file)) ?? {}
    for (const name of needs) if (!bundled.has(name)) add(name, name)
    if (loader !== undefined) add(basename(loader), loader)
  }
  const add = (name: string, wanted: string) => {
    const place = places.get(name)
    if (place === undefined) throw new Error(`no package of the distribution has ${name}`)
    const at = wanted.startsWith('/') ? `usr${wanted}` : `usr/${place.replace(/^usr\//, '')}`
    if (found.has(at)) return
    const file = realpathSync(join(distribution, place))
    found.set(at, file)
    visit(file)
  }
  for (const program of programs) visit(program)
  return new Map([...found].toSorted(([left], [right]) => (left < right ? -1 : 1)))
}
