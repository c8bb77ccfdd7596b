/**
 * Makes everything that Sluice is given away as, from what is installed here, without a container engine or a network:
 *
 *     npm run artefacts [FOLDER [FETCHED...]]        # dist, unless another one is named
 *
 * With folders that `fetch-platform.ts` filled, images are for those machines, too.
 * Equal sources, an equal Node and equal system libraries make equal files, byte by byte (SHA256SUMS).
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildEngine } from '../build-engine.ts'
import { billOfMaterials } from './bill-of-materials.ts'
import { buildImage } from './build-image.ts'
import { FileTree } from './file-tree.ts'
import { npmPackage } from './npm-package.ts'
import { fetchedPlatform, thisMachine } from './platform.ts'
import { artefactTime, program, root } from './repository.ts'
import { tarArchive } from './tar-archive.ts'

function chartPackage(): Buffer {
  const tree = new FileTree().addAll('sluice', join(root, 'charts/sluice'))
  return gzipSync(tarArchive(tree, artefactTime), { level: 9 })
}

for (const page of ['web/dist', 'web/console/dist']) {
  if (!existsSync(join(root, page, 'index.html'))) throw new Error(`there is no ${page} yet: npm run build:page`)
}
await buildEngine()
const [, , given, ...fetched] = process.argv
const folder = resolve(given ?? join(root, 'dist'))
const platforms = [thisMachine(), ...fetched.map(fetchedPlatform)]
const machines = platforms.length > 1 ? 'linux' : `linux-${platforms[0]?.architecture}`
mkdirSync(folder, { recursive: true })
const { version } = program
const files = {
  package: `sluice-${version}.tgz`,
  chart: `sluice-chart-${version}.tgz`,
  bill: `sluice-${version}.cdx.json`,
  image: `sluice-${version}-${machines}.oci.tar`,
}
writeFileSync(join(folder, files.package), npmPackage())
writeFileSync(join(folder, files.chart), chartPackage())
writeFileSync(join(folder, files.bill), `${JSON.stringify(billOfMaterials(), undefined, 2)}\n`)
await buildImage(join(folder, files.image), platforms)
const sums = Object.values(files).map((name) => {
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, name)))
    .digest('hex')
  return `${digest}  ${name}\n`
})
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
process.stdout.write(sums.join(''))
