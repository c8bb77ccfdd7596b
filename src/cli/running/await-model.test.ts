import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { SluiceError } from '../../foundation/errors.ts'
import { type Model, modelKind } from '../../resources/model.ts'
import { exitCodeOf } from '../exit-codes.ts'
import { type AwaitOptions, awaitModel } from './await-model.ts'

const model = (status: object): Model =>
  modelKind.schema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name: 'm' },
    spec: { url: 'pvc://userdata/m', engine: 'LlamaCpp' },
    status,
  })
const loading = { phase: 'Waking', loading: { phase: 'Reading', percent: 7, progress: '7 %', since: '', movedAt: '' } }

function setUp(states: ReadonlyArray<Model | undefined>, more: Partial<AwaitOptions> = {}) {
  const said: string[] = []
  const models = {
    async *follow(_name: string, signal: AbortSignal) {
      yield* states
      if (!signal.aborted) await once(signal, 'abort')
    },
  }
  const result = awaitModel(models, {
    name: 'm',
    what: 'That m wakes',
    deadlineMs: 60_000,
    say: (sentence) => void said.push(sentence),
    judge: ({ status }) => {
      if (status?.phase === 'Failed') return new SluiceError('model_unavailable', { model: 'm', reason: 'no file.' })
      return status?.phase === 'Ready' ? 'done' : 'wait'
    },
    signal: new AbortController().signal,
    ...more,
  })
  return { said, result }
}

describe('waiting for a model', () => {
  it('says what happens until it is as it should be', async () => {
    const { said, result } = setUp([model({ phase: 'Asleep' }), model(loading), model({ phase: 'Ready' })])
    expect((await result)?.status?.phase).toBe('Ready')
    expect(said).toEqual(['Asleep.', 'Waking: reading its files, 7 %.'])
  })

  it('ends with why it cannot be, or that it is gone', async () => {
    await expect(setUp([model({ phase: 'Failed' })]).result).rejects.toThrow('no file.')
    await expect(setUp([undefined]).result).rejects.toThrow('does not exist')
  })

  it('ends at its deadline with what it last saw, and with a code of its own', async () => {
    const failure = await setUp([model(loading)], { deadlineMs: 20 }).result.catch((error: unknown) => error)
    expect(String(failure)).toContain('That m wakes did not happen within 0.02 s: Waking: reading its files, 7 %.')
    expect(exitCodeOf(failure)).toBe(5)
  })

  it('ends without an error when somebody interrupts it', async () => {
    const stop = new AbortController()
    const { result } = setUp([model(loading)], { signal: stop.signal, say: () => stop.abort() })
    expect(await result).toBeUndefined()
  })
})
