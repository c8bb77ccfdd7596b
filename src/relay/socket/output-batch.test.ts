import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { newReadBatch, OpenedEnds } from './socket-ends.fixture.ts'
import { SocketInput } from './socket-input.ts'
import { OutputBatch, roomBytes, SocketOutput } from './socket-output.ts'

const ends = new OpenedEnds()
afterEach(() => ends.clear())

async function connection() {
  const { accepted: socket, far } = await ends.open((accepted) => new SocketInput(newReadBatch()).accept(accepted))
  let text = ''
  let enough = () => {}
  far.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    enough()
  })
  const received = (wanted: string) =>
    new Promise<string>((resolve) => {
      enough = () => {
        if (text.length < wanted.length) return
        const arrived = text
        text = ''
        enough = () => {}
        resolve(arrived)
      }
      enough()
    })
  return { batch: new OutputBatch(new SocketOutput(socket, () => {})), received }
}

type Part = { readonly text: string } | { readonly bytes: string }

const lengths = fc.oneof(fc.nat(40), fc.constantFrom(0, 4_096, 4_097, roomBytes - 1, roomBytes, roomBytes + 1))
const parts: fc.Arbitrary<readonly Part[]> = fc.array(
  fc.oneof(
    lengths.map((length): Part => ({ text: 'é'.repeat(length) })),
    lengths.map((length): Part => ({ bytes: 'b'.repeat(length) })),
  ),
  { maxLength: 6 },
)

function add(batch: OutputBatch, part: Part): string {
  if ('text' in part) {
    batch.addText(part.text)
    return part.text
  }
  batch.addBuffer(Buffer.from(part.bytes))
  return part.bytes
}

describe('OutputBatch', () => {
  it('sends everything in its order, however long and of whatever kind', async () => {
    const { batch, received } = await connection()
    await fc.assert(
      fc.asyncProperty(parts, async (all) => {
        const wanted = all.map((part) => add(batch, part)).join('')
        batch.flush()
        expect(await received(wanted)).toBe(wanted)
      }),
      { numRuns: 50 },
    )
  })

  it('keeps apart what two connections put together at the same time', async () => {
    const [one, other] = [await connection(), await connection()]
    const turns = fc.array(fc.tuple(fc.boolean(), parts), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(turns, async (all) => {
        const wanted = ['', '']
        for (const [isOne, added] of all) {
          for (const part of added) wanted[isOne ? 0 : 1] += add(isOne ? one.batch : other.batch, part)
        }
        one.batch.flush()
        other.batch.flush()
        expect(await one.received(wanted[0] ?? '')).toBe(wanted[0])
        expect(await other.received(wanted[1] ?? '')).toBe(wanted[1])
      }),
      { numRuns: 50 },
    )
  })

  it('sends a buffer that is alone without a copy of it, and nothing when there is nothing', () => {
    const written: Buffer[] = []
    const output = { needsDrain: false, write: (bytes: Buffer) => written.push(bytes) > 0, writeTogether: () => true }
    const batch = new OutputBatch(output)
    const alone = Buffer.from('data: 1\n\n')
    batch.addBuffer(Buffer.alloc(0))
    batch.addBuffer(alone)
    expect(batch.flush()).toBe(true)
    expect(written[0]).toBe(alone)
    batch.addBuffer(Buffer.alloc(0))
    batch.addText('')
    expect(batch.flush()).toBe(true)
    expect(written).toHaveLength(1)
  })
})
