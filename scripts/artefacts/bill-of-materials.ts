import { foldersOf, lockedPackages } from './production-packages.ts'
import { artefactTime, program } from './repository.ts'

/** What the program consists of besides itself, as CycloneDX (1.6) has it: names, versions, licences and checksums. */
export function billOfMaterials(): object {
  const folders = foldersOf(Object.keys(program.dependencies), () => true)
  const components = new Map([...folders].map((folder) => componentIn(folder)).map((part) => [part['bom-ref'], part]))
  const own = purlOf(program.name, program.version)
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: new Date(artefactTime * 1000).toISOString(),
      component: {
        type: 'application',
        'bom-ref': own,
        name: program.name,
        version: program.version,
        description: program.description,
        licenses: [{ license: { id: program.license } }],
        purl: own,
      },
    },
    components: [...components.values()].toSorted((left, right) => (left['bom-ref'] < right['bom-ref'] ? -1 : 1)),
  }
}

function componentIn(folder: string) {
  const locked = lockedPackages[folder] ?? {}
  const { version = '', license, integrity = '' } = locked
  // One that stands in for another says its own name.
  const name = locked.name ?? folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const purl = purlOf(name, version)
  const [algorithm, digest] = integrity.split('-')
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    scope: locked.optional === true ? 'optional' : 'required',
    ...(typeof license === 'string' && { licenses: [{ expression: license }] }),
    ...(algorithm === 'sha512' &&
      digest !== undefined && { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }),
    purl,
  }
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}
