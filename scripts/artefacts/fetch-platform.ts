/**
 * Brings what an image for another kind of machine is made of, so that it can be built here:
 *
 *     node scripts/artefacts/fetch-platform.ts arm64 FOLDER
 *
 * The pinned Node and the packages of package-lock.json come from where npm gets its packages, with the same integrity;
 * the libraries below them are those of this machine's Debian release, by apt. Nothing of it is run.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { foldersOf, lockedPackages } from './production-packages.ts'
import { program } from './repository.ts'

const systemPackages = ['libc6', 'libstdc++6', 'libgcc-s1', 'libgomp1', 'libatomic1']
const packed = z.array(z.looseObject({ filename: z.string(), integrity: z.string() })).min(1)

/** Packages that are only for machines of this kind, by their folders. */
function packagesFor(architecture: string): readonly string[] {
  const other = architecture === 'arm64' ? 'x64' : 'arm64'
  return [...foldersOf(Object.keys(program.dependencies), () => true)].filter((folder) => {
    const { os, cpu, libc } = lockedPackages[folder] ?? {}
    const fits = os?.includes('linux') && cpu?.includes(architecture) && libc?.includes('musl') !== true
    // Some say that they fit both, because they can be cross-compiled with.
    return fits && !folder.includes(`linux-${other}`) && !folder.includes('@typescript/')
  })
}

function fetchPackage(name: string, integrity: string | undefined, work: string, to: string): void {
  const words = ['pack', name, '--json', '--silent', '--pack-destination', work]
  const [file] = packed.parse(JSON.parse(execFileSync('npm', words, { encoding: 'utf8', cwd: work })))
  if (!file || (integrity !== undefined && file.integrity !== integrity)) {
    throw new Error(`${name} is not what package-lock.json says`)
  }
  mkdirSync(to, { recursive: true })
  // npm writes the scope into the file's name.
  const archive = join(work, file.filename.replace(/^@/, '').replaceAll('/', '-'))
  execFileSync('tar', ['-xzf', archive, '--strip-components=1', '--no-same-owner', '-C', to])
}

function fetchLibraries(architecture: string, work: string, to: string): void {
  const state = join(work, 'apt')
  for (const folder of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(state, folder), { recursive: true })
  const settings = [
    `Dir::State::Lists=${join(state, 'lists')}`,
    `Dir::Cache=${join(state, 'cache')}`,
    'Dir::State::status=/dev/null',
    `APT::Architecture=${architecture}`,
    `APT::Architectures=${architecture}`,
    'APT::Sandbox::User=root',
  ].flatMap((setting) => ['-o', setting])
  const apt = (...words: string[]) => execFileSync('apt-get', ['-q', ...settings, ...words], { cwd: work })
  apt('update')
  apt('download', ...systemPackages)
  for (const name of readdirSync(work).filter((each) => each.endsWith('.deb'))) {
    execFileSync('dpkg-deb', ['-x', join(work, name), to])
  }
}

const [, , architecture, given] = process.argv
if ((architecture !== 'arm64' && architecture !== 'x64') || given === undefined) {
  throw new Error('name arm64 or x64, and a folder')
}
const folder = resolve(given)
const work = join(folder, 'work')
rmSync(folder, { recursive: true, force: true })
mkdirSync(join(folder, 'libraries'), { recursive: true })
mkdirSync(work)
const nodeFolder = join(work, 'node')
fetchPackage(`node-linux-${architecture}@${program.dependencies['node']}`, undefined, work, nodeFolder)
cpSync(join(nodeFolder, 'bin/node'), join(folder, 'node'))
for (const path of packagesFor(architecture)) {
  const { version, integrity } = lockedPackages[path] ?? {}
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  fetchPackage(`${name}@${version}`, integrity, work, join(folder, 'packages', path))
}
fetchLibraries(architecture === 'x64' ? 'amd64' : architecture, work, join(folder, 'libraries'))
rmSync(work, { recursive: true })
