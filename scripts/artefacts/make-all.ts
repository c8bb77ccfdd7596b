/**
 * Makes everything that Sluice is given away as, from what is installed here, without a container engine or a network:
 *
 *     npm run artefacts [FOLDER]        # dist, unless another one is named
 *
 * Equal sources, an equal Node and equal system libraries make equal files, byte by byte (SHA256SUMS).
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { billOfMaterials } from './bill-of-materials.ts'
import { architecture, buildImage } from './build-image.ts'
import { FileTree } from './file-tree.ts'
import { npmPackage } from './npm-package.ts'
import { artefactTime, program, root } from './repository.ts'
import { tarArchive } from './tar-archive.ts'

function chartPackage(): Buffer {
  const tree = new FileTree().addAll('sluice', join(root, 'charts/sluice'))
  return gzipSync(tarArchive(tree, artefactTime), { level: 9 })
}

if (!existsSync(join(root, 'web/dist/index.html'))) {
  throw new Error('there is no chat page yet: npm run build:page')
}
const folder = resolve(process.argv[2] ?? join(root, 'dist'))
mkdirSync(folder, { recursive: true })
const { version } = program
const files = {
  package: `sluice-${version}.tgz`,
  chart: `sluice-chart-${version}.tgz`,
  bill: `sluice-${version}.cdx.json`,
  image: `sluice-${version}-linux-${architecture}.oci.tar`,
}
writeFileSync(join(folder, files.package), npmPackage())
writeFileSync(join(folder, files.chart), chartPackage())
writeFileSync(join(folder, files.bill), `${JSON.stringify(billOfMaterials(), undefined, 2)}\n`)
buildImage(join(folder, files.image))
const sums = Object.values(files).map((name) => {
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, name)))
    .digest('hex')
  return `${digest}  ${name}\n`
})
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
process.stdout.write(sums.join(''))
