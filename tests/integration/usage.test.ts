import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { usageRecordKind } from '../../src/resources/usage-record.ts'
import { type UsageFigures, summarizeUsage } from '../../src/resources/usage-summary.ts'
import { managementCredential } from '../support/management-credential.ts'
import { ModelStage, namespace } from '../support/model-stage.ts'
import { runProgram } from '../support/programs.ts'

const program = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const stage = new ModelStage()
const patience = { timeout: 60_000, interval: 500 }

async function usage(...flags: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(process.execPath, [
    program,
    'usage',
    '--data',
    stage.data,
    ...flags,
  ])
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}
const total = async () => {
  const { items } = await stage.client.list(usageRecordKind, { namespace })
  return summarizeUsage(items, { since: '2000-01-01', by: [] }).total
}

/** Begins a long stream and leaves in its middle. */
async function leaveInTheMiddle(): Promise<void> {
  const response = await stage.chat('tiny', { stream: true, max_tokens: 3_500 })
  const reader = response.body?.getReader()
  await reader?.read()
  await reader?.cancel()
}

// The tests follow one cluster through its life, so they build on each other.
describe('what models are used for', () => {
  let promptTokens: number
  let before: UsageFigures

  beforeAll(async () => {
    await stage.start()
    await stage.addFile('models/tiny')
    await stage.create('tiny')
  })
  afterAll(() => stage.destroy())

  it('is counted for streams whose clients do not ask for it, and for those that are broken off', async () => {
    const whole = (await (await stage.chat('tiny')).json()) as { usage: { prompt_tokens: number } }
    promptTokens = whole.usage.prompt_tokens
    expect(await (await stage.chat('tiny', { stream: true })).text()).toContain('[DONE]')
    const reported = { requests: 2, promptTokens: 2 * promptTokens, completionTokens: 4, estimatedTokens: 0 }
    await expect.poll(total, patience).toMatchObject(reported)
    await leaveInTheMiddle()
    expect((await stage.chat('tiny', { messages: 'none' })).status).toBe(400)
    await expect.poll(total, patience).toMatchObject({ requests: 4, abandonedRequests: 1, failedRequests: 1 })
    expect((await total()).estimatedTokens).toBeGreaterThan(promptTokens)
  })

  it('is kept when everything is killed, and goes on', async () => {
    await expect.poll(async () => (await total()).cardSeconds, patience).toBeGreaterThan(0)
    before = await total()
    await stage.sluice.killHard()
    await stage.start()
    const { cardSeconds, savedCardSeconds, ...served } = before
    expect(await total()).toMatchObject(served)
    await expect.poll(async () => (await total()).cardSeconds, patience).toBeGreaterThan(cardSeconds ?? 0)
    await stage.chat('tiny')
    // It ends in order before the next write is due.
    await stage.sluice.stop()
    await stage.start()
    const after = await total()
    expect(after).toMatchObject({ requests: 5, promptTokens: before.promptTokens + promptTokens, failedRequests: 1 })
    expect(after.savedCardSeconds).toBeGreaterThanOrEqual(savedCardSeconds ?? 0)
  })

  it('is shown to people by model, key and day, and to programs by the management API', async () => {
    expect((JSON.parse(await usage('-o', 'json')) as { total: object }).total).toMatchObject({ requests: 5 })
    const shown = (await usage('--by', 'day,model', '-o', 'wide')).split('\n')
    expect(shown[0]).toMatch(/^DAY +MODEL +REQUESTS +FAILED +ABANDONED +PROMPT TOKENS +COMPLETION TOKENS +ESTIMATED/)
    expect(shown[1]).toMatch(/^\d{4}-\d\d-\d\d +tiny +5 +1 +1 /)
    expect(await usage('--by', 'key')).not.toContain('CARD TIME')
    const { management, clusterId } = stage.sluice.endpoints
    const headers = { authorization: managementCredential(stage.data) }
    const answer = await fetch(`${management}/api/vks/v1/${clusterId}/usage?by=model`, { headers })
    const rows = [{ model: 'tiny', requests: 5, failedRequests: 1, abandonedRequests: 1 }]
    expect(await answer.json()).toMatchObject({ code: 0, data: { by: ['model'], rows } })
  })
})
