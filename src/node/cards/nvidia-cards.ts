import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Card } from './card.ts'
import { namesInFolder } from '../names-in-folder.ts'
import type { RunProgram } from '../processes/run-program.ts'

const driverFolder = '/proc/driver/nvidia'
const query = ['--query-gpu=index,uuid,name,memory.total,mig.mode.current', '--format=csv,noheader,nounits']

export interface NvidiaReading {
  readonly cards: readonly Card[]
  /** One sentence for each card that exists but cannot be used. */
  readonly problems: readonly string[]
}

/** Asks the driver for its cards. Without `nvidia-smi` there are no cards, and that is no problem. */
export async function readNvidiaCards(
  run: RunProgram,
  signal: AbortSignal,
  driver = driverFolder,
): Promise<NvidiaReading> {
  const result = await run('nvidia-smi', query, signal)
  if (!result.ran) {
    return { cards: [], problems: result.reason === 'missing' ? [] : [`nvidia-smi failed: ${result.message}`] }
  }
  const reading = withMinors(parseNvidiaCards(result.output), readMinors(driver))
  if (result.exitCode === 0) return reading
  // nvidia-smi fails when a single card is lost, but may still have listed the others.
  const said = result.output.trim().split('\n').at(-1)?.slice(0, 300) ?? ''
  return { cards: reading.cards, problems: [`nvidia-smi ended with ${result.exitCode}: ${said}`] }
}

function withMinors({ cards, problems }: NvidiaReading, minors: ReadonlyMap<string, number>): NvidiaReading {
  const known = cards.map((card) => {
    const minor = minors.get(card.uuid ?? '')
    return minor === undefined ? card : { ...card, minor }
  })
  return { cards: known, problems }
}

/** The device numbers by card UUID, from the driver's folder for each card; empty where there is none. */
function readMinors(driver: string): ReadonlyMap<string, number> {
  const gpus = join(driver, 'gpus')
  return new Map(
    namesInFolder(gpus).flatMap((place) => {
      const text = readText(join(gpus, place, 'information'))
      const [, uuid] = /^GPU UUID:\s+(GPU-\S+)\s*$/m.exec(text) ?? []
      const [, minor] = /^Device Minor:\s+(\d+)\s*$/m.exec(text) ?? []
      return uuid === undefined || minor === undefined ? [] : [[uuid, Number(minor)] as const]
    }),
  )
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Parses lines of `index, uuid, name, memory in MiB[, MIG mode]`. */
export function parseNvidiaCards(output: string): NvidiaReading {
  const cards: Card[] = []
  const problems: string[] = []
  for (const line of output.split('\n').map((text) => text.trim())) {
    if (line === '' || line === 'No devices were found') continue
    const [index = '', uuid = '', product = '', memory = '', mig = ''] = line.split(',').map((field) => field.trim())
    const kind = cardKindOf(product)
    if (!/^\d+$/.test(index) || !/^GPU-[\w-]+$/.test(uuid) || kind === undefined) {
      problems.push(`nvidia-smi says about a card what cannot be read: ${line.slice(0, 200)}`)
      continue
    }
    if (mig === 'Enabled') {
      problems.push(`Card ${index} (${product}) is split by MIG, which is not supported here; it is left out.`)
      continue
    }
    const memoryMebibytes = /^\d+$/.test(memory) ? { memoryMebibytes: Number(memory) } : {}
    cards.push({ kind, index: Number(index), simulated: false, uuid, product, ...memoryMebibytes })
  }
  return { cards, problems }
}

/** `NVIDIA H800 PCIe` → `nvidia.com/gpu-h800-pcie`; `undefined` for what is no product's name. */
export function cardKindOf(product: string): string | undefined {
  const model = product
    .replace(/^NVIDIA\s+/i, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  // nvidia-smi puts what it does not know in brackets: [N/A], [Unknown Error], [GPU is lost].
  return model === '' || product.startsWith('[') ? undefined : `nvidia.com/gpu-${model.slice(0, 59)}`
}
