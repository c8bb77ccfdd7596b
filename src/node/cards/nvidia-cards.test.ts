import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { systemClock } from '../../foundation/clock.ts'
import { lostCards, watchCards } from './card-watch.ts'
import { detectCards } from './gpu-inventory.ts'
import { cardKindOf, parseNvidiaCards } from './nvidia-cards.ts'
import { type ProgramResult, programRunner } from '../processes/run-program.ts'

const never = new AbortController().signal
const uuid = 'GPU-0d46afed-5ae8-3fc2-850e-fa7c3044e96b'
const h200 = `0, ${uuid}, NVIDIA H200, 143771, Disabled\n`

describe('cardKindOf', () => {
  it.each([
    ['NVIDIA H200', 'nvidia.com/gpu-h200'],
    ['NVIDIA H800', 'nvidia.com/gpu-h800'],
    ['NVIDIA H800 80GB HBM3', 'nvidia.com/gpu-h800-80gb-hbm3'],
    ['NVIDIA H800 PCIe', 'nvidia.com/gpu-h800-pcie'],
    ['NVIDIA L40S', 'nvidia.com/gpu-l40s'],
    ['Tesla T4', 'nvidia.com/gpu-tesla-t4'],
    ['NVIDIA A100-SXM4-80GB', 'nvidia.com/gpu-a100-sxm4-80gb'],
    ['[Unknown Error]', undefined],
    ['', undefined],
  ])('%s is %s', (product, kind) => {
    expect(cardKindOf(product)).toBe(kind)
  })
})

describe('parseNvidiaCards', () => {
  it('reads what the driver of a real machine printed', () => {
    expect(parseNvidiaCards(h200)).toEqual({
      cards: [
        {
          kind: 'nvidia.com/gpu-h200',
          index: 0,
          simulated: false,
          uuid,
          product: 'NVIDIA H200',
          memoryMebibytes: 143771,
        },
      ],
      problems: [],
    })
  })

  it('leaves out cards that are split or do not answer, and says so', () => {
    const lines = [
      '0, GPU-a, NVIDIA A100-SXM4-40GB, 40536, Enabled',
      '1, GPU-b, NVIDIA A100-SXM4-40GB, 40536, Disabled',
      '2, [Unknown Error], [Unknown Error], [Unknown Error], [N/A]',
      'Unable to determine the device handle for GPU0000:41:00.0: GPU is lost.',
    ]
    const { cards, problems } = parseNvidiaCards(lines.join('\n'))
    expect(cards.map(({ index }) => index)).toEqual([1])
    expect(problems).toHaveLength(3)
    expect(problems[0]).toContain('MIG')
  })

  it('knows a machine without cards', () => {
    expect(parseNvidiaCards('No devices were found\n')).toEqual({ cards: [], problems: [] })
  })
})

describe('detectCards', () => {
  const detect = async (flag: string | undefined, result: ProgramResult) => {
    const problems: string[] = []
    const run = () => Promise.resolve(result)
    const cards = await detectCards(flag, 1, { run, signal: never, problem: (message) => problems.push(message) })
    return { kinds: cards.map(({ kind, simulated }) => `${kind}${simulated ? ' (simulated)' : ''}`), problems }
  }

  it('takes the real cards', async () => {
    const result = { ran: true, exitCode: 0, output: h200 } as const
    expect((await detect(undefined, result)).kinds).toEqual(['nvidia.com/gpu-h200'])
  })

  it('lets the flag declare others', async () => {
    const result = { ran: true, exitCode: 0, output: h200 } as const
    expect((await detect('nvidia.com/gpu-l40s=1', result)).kinds).toEqual(['nvidia.com/gpu-l40s (simulated)'])
    expect((await detect('', result)).kinds).toEqual([])
  })

  it.each([
    [{ ran: false, reason: 'missing', message: 'ENOENT' } as const, 0],
    [{ ran: false, reason: 'failed', message: 'took too long' } as const, 1],
    [{ ran: true, exitCode: 9, output: 'NVIDIA-SMI has failed because it could not communicate' } as const, 1],
  ])('falls back to the simulated set: %j', async (result, problems) => {
    const detected = await detect(undefined, result)
    expect(detected.kinds).toEqual(Array(2).fill('nvidia.com/gpu-l40s (simulated)'))
    expect(detected.problems).toHaveLength(problems)
  })
})

describe('watchCards', () => {
  const { cards } = parseNvidiaCards('0, GPU-a, NVIDIA L40S, 46068\n1, GPU-b, NVIDIA L40S, 46068\n')

  it('takes a card for lost that is not listed any more or has become another one', () => {
    const [first, second] = cards
    if (!first || !second) throw new Error('no cards')
    expect(lostCards(cards, cards)).toEqual(new Set())
    expect(lostCards(cards, [first])).toEqual(new Set([1]))
    expect(lostCards(cards, [first, { ...second, uuid: 'GPU-c' }])).toEqual(new Set([1]))
  })

  it('tells when a card is lost and when it is back, each once', async () => {
    const clock = new FakeClock()
    const stop = new AbortController()
    let listed = cards
    const told: number[][] = []
    const watching = watchCards(
      {
        cards,
        clock,
        read: () => Promise.resolve({ cards: listed, problems: [] }),
        onLost: (lost) => told.push([...lost]),
      },
      stop.signal,
    )
    await clock.advance(60_000)
    listed = cards.slice(1)
    await clock.advance(90_000)
    listed = cards
    await clock.advance(60_000)
    expect(told).toEqual([[0], []])
    stop.abort()
    await watching
  })
})

describe('programRunner', () => {
  const run = programRunner(systemClock, 60_000)
  it('tells the output, the exit code, and what goes wrong', async () => {
    expect(await run(process.execPath, ['-e', 'console.log(1); process.exit(3)'], never)).toEqual({
      ran: true,
      exitCode: 3,
      output: '1\n',
    })
    expect(await run('/no/such/program', [], never)).toMatchObject({ ran: false, reason: 'missing' })
  })

  it('ends a program that takes too long', async () => {
    const clock = new FakeClock()
    const running = programRunner(clock, 200)('sleep', ['60'], never)
    await clock.advance(200)
    expect(await running).toMatchObject({ ran: false, reason: 'failed' })
  })
})
