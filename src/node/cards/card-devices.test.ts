import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cardDevices } from './card-devices.ts'
import type { Card } from './card.ts'
import { readNvidiaCards } from './nvidia-cards.ts'

const never = new AbortController().signal
const uuids = ['GPU-7270db5f-017b-cc7d-fdff-9d6865436211', 'GPU-0d46afed-5ae8-3fc2-850e-fa7c3044e96b']
/** The devices of a machine with cards, and of one more card. */
const present = [
  'null',
  'nvidia-caps',
  'nvidia-uvm',
  'nvidia-uvm-tools',
  'nvidia0',
  'nvidia1',
  'nvidia10',
  'nvidiactl',
  'tty',
]
/** What driver 580.159.04 prints about an H200. */
const information = (uuid: string, place: string, minor: number) => `Model: \t\t NVIDIA H200
IRQ:   \t\t 41
GPU UUID: \t ${uuid}
Video BIOS: \t 96.00.a5.00.1a
Bus Type: \t PCIe
DMA Size: \t 52 bits
DMA Mask: \t 0xfffffffffffff
Bus Location: \t ${place}
Device Minor: \t ${minor}
GPU Firmware: \t 580.159.04
GPU Excluded:\t No
`

let driver = ''
beforeEach(() => {
  driver = mkdtempSync(join(tmpdir(), 'sluice-driver-'))
})
afterEach(() => rmSync(driver, { recursive: true, force: true }))

/** Two cards, whose devices are numbered the other way round. */
async function twoCards(): Promise<readonly Card[]> {
  for (const [index, uuid] of uuids.entries()) {
    const place = `0000:0${index}:06.0`
    mkdirSync(join(driver, 'gpus', place), { recursive: true })
    writeFileSync(join(driver, 'gpus', place, 'information'), information(uuid, place, 1 - index))
  }
  const output = uuids.map((uuid, index) => `${index}, ${uuid}, NVIDIA H200, 143771, Disabled\n`).join('')
  const { cards } = await readNvidiaCards(() => Promise.resolve({ ran: true, exitCode: 0, output }), never, driver)
  return cards
}

describe('the devices of a container with cards', () => {
  it('are those of its own cards, by what the driver calls them, and what all need', async () => {
    const [first, second] = await twoCards()
    expect([first?.minor, second?.minor]).toEqual([1, 0])
    const shared = ['nvidia-uvm', 'nvidia-uvm-tools', 'nvidiactl']
    expect(cardDevices(first ? [first] : [], present).names.toSorted()).toEqual([...shared, 'nvidia1'].toSorted())
    expect(cardDevices(second ? [second] : [], present).names.toSorted()).toEqual([...shared, 'nvidia0'].toSorted())
  })

  it('are counted from 0 where it sees no others', async () => {
    const cards = await twoCards()
    expect(cardDevices(cards, present).visible).toBe('0,1')
    expect(cardDevices(cards.slice(1), present)).toMatchObject({ visible: '0', ids: uuids[1] })
  })

  it('are all there, by the numbers of the machine, where nobody knows which is which', () => {
    const cards = [{ kind: 'nvidia.com/gpu-l40s', index: 1, simulated: true }]
    const { names, visible } = cardDevices(cards, present)
    expect(visible).toBe('1')
    expect(names).toContain('nvidia0')
    expect(cardDevices([], present)).toEqual({ names: [], visible: '' })
  })
})
