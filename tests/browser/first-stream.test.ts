import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromiumFlags, chromiumPath, kubectlPath, runProgram } from '../support/programs.ts'
import { SluiceProcess, podProcesses, killIfThere, processesMentioning, until } from '../support/sluice-process.ts'

// The whole path of a newcomer, with real parts only: npm start, kubectl, llama.cpp, the OpenAI SDK, curl, a browser.
const flags = ['--idle-window', '4', '--cluster', 'first', '--gpus', 'nvidia.com/gpu-l40s=3']
const question = 'What is the capital of France?'
const results = new URL('../../.test-results/', import.meta.url).pathname

describe.skipIf(kubectlPath === undefined || chromiumPath === undefined)(
  'a first stream through the whole sluice',
  () => {
    let data: string
    let sluice: SluiceProcess
    let browser: Browser

    const kubectl = (args: string, input?: string) =>
      runProgram(kubectlPath ?? '', ['--kubeconfig', sluice.kubeconfig, ...args.split(' ')], input)
    const openai = () =>
      new OpenAI({ baseURL: `${sluice.endpoints.gateway}/openai/v1`, apiKey: 'dummy', maxRetries: 0 })
    const ask = (overrides: object = {}) => ({
      model: 'smollm2',
      temperature: 0,
      max_tokens: 24,
      messages: [{ role: 'user' as const, content: question }],
      ...overrides,
    })
    const credentials = () =>
      JSON.parse(readFileSync(join(data, 'credentials.json'), 'utf8')) as { accessKey: string; secretKey: string }
    const manage = async (path: string, authorization?: string) => {
      const { accessKey, secretKey } = credentials()
      const header = authorization ?? `plain Credential=${accessKey},Signature=${secretKey}`
      const response = await fetch(`${sluice.endpoints.management}${path}`, {
        headers: header === '' ? {} : { authorization: header },
      })
      return {
        status: response.status,
        body: (await response.json()) as { code: number; data?: unknown; msg?: string },
      }
    }
    const cardsUsed = async () => {
      const { body } = await manage(`/api/vks/v1/${sluice.endpoints.clusterId}`)
      const detail = body.data as { utilizationRate: { gpu: Array<{ name: string; hard: number; used: number }> } }
      return detail.utilizationRate.gpu[0]
    }
    const phase = async () => (await kubectl('get model smollm2 -o jsonpath={.status.phase}')).stdout
    const asleep = () => until('smollm2 to sleep', 60_000, async () => (await phase()) === 'Asleep')

    beforeAll(async () => {
      data = mkdtempSync(join(tmpdir(), 'sluice-first-'))
      mkdirSync(results, { recursive: true })
      sluice = await SluiceProcess.start(data, flags)
      browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: chromiumFlags })
    })

    afterAll(async () => {
      await browser?.close()
      sluice?.destroy()
      for (const pid of processesMentioning(data)) killIfThere(pid)
      rmSync(data, { recursive: true, force: true })
    })

    it('1: npm start says where things are and writes the files other programs rely on', () => {
      const { endpoints } = sluice
      expect(sluice.output).toContain(`${endpoints.gateway}/`)
      expect(sluice.output).toContain(endpoints.controlPlane)
      expect(endpoints.controlPlane.endsWith(`/vks/${endpoints.clusterId}`)).toBe(true)
      expect(endpoints.gatewayExposed).toMatch(
        new RegExp(`^https://gateway-x-sluice-x-${endpoints.clusterId}\\.local-1\\.localhost:\\d+$`),
      )
      expect(Object.keys(credentials()).toSorted()).toEqual(['accessKey', 'enterprise', 'secretKey'])
      for (const name of ['kubeconfig', 'credentials.json', 'endpoints.json', 'sluice.db', 'pki/ca.key']) {
        expect([name, statSync(join(data, name)).mode & 0o077]).toEqual([name, 0])
      }
      expect(existsSync(join(data, 'volumes/userdata'))).toBe(true)
      expect(existsSync(endpoints.ca)).toBe(true)
    })

    it('2: kubectl works: cluster-info, apply, get, watch, delete, and refusals that name the field', async () => {
      expect((await kubectl('cluster-info')).stdout).toContain(sluice.endpoints.controlPlane)
      expect((await kubectl('get namespaces')).stdout).toMatch(/sluice +Active/)

      const watch = spawn(kubectlPath ?? '', [
        '--kubeconfig',
        sluice.kubeconfig,
        'get',
        'configmaps',
        '-w',
        '--output-watch-events',
      ])
      let seen = ''
      watch.stdout.setEncoding('utf8').on('data', (text: string) => (seen += text))
      const manifest = (value: string) =>
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\ndata: {a: "${value}"}\n---\n` +
        `apiVersion: v1\nkind: Secret\nmetadata: {name: hidden}\nstringData: {word: sesame}\n`
      expect((await kubectl('apply -f -', manifest('1'))).stdout).toContain('configmap/note created')
      expect((await kubectl('apply -f -', manifest('2'))).stdout).toContain('configmap/note configured')
      expect((await kubectl('get configmap note -o jsonpath={.data.a}')).stdout).toBe('2')
      expect((await kubectl('get secret hidden -o jsonpath={.data.word}')).stdout).toBe(
        Buffer.from('sesame').toString('base64'),
      )
      expect((await kubectl('delete configmap/note secret/hidden')).stdout).toContain('configmap "note" deleted')
      await until('the watch to see it all', 10_000, () => /ADDED.*note[^]*MODIFIED.*note[^]*DELETED.*note/.test(seen))
      watch.kill()

      expect((await kubectl('get models')).stdout).toMatch(
        /NAME +PHASE +LOADING +READY +REPLICAS +ENGINE +PROFILE +AGE\nsmollm2 /,
      )
      const bad = `apiVersion: sluice.dev/v1\nkind: Model\nmetadata: {name: bad}\nspec: {engine: LlamaCpp, url: "pvc://userdata/../etc", minReplicas: 3, maxReplicas: 2}\n`
      const refused = await kubectl('apply -f -', bad)
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain('spec.url')
      const nodePort = `apiVersion: v1\nkind: Service\nmetadata: {name: np}\nspec: {type: NodePort, ports: [{port: 80}]}\n`
      expect((await kubectl('apply -f -', nodePort)).stderr).toContain('ServiceExporter')
      const foreign = `apiVersion: v1\nkind: Pod\nmetadata: {name: stray}\nspec: {containers: [{name: a, image: docker.io/library/nginx}]}\n`
      expect((await kubectl('apply -f -', foreign)).stderr).toContain(sluice.endpoints.registry)
    })

    it('3: the model is in the userdata claim, fetched in the background', async () => {
      const file = join(data, 'volumes/userdata/models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf')
      await until('the model file', 120_000, () => existsSync(file))
      expect(statSync(file).size).toBe(98_362_432)
      await asleep()
    })

    it('4: a question wakes the sleeping model and is answered in the documented shape', async () => {
      const models = await openai().models.list()
      expect(models.data.map(({ id }) => id)).toEqual(['smollm2'])

      const answer = await openai().chat.completions.create(ask())
      expect(answer.choices[0]?.message.content).toContain('Paris')
      expect(answer).toMatchObject({
        object: 'chat.completion',
        model: 'smollm2',
        choices: [{ index: 0, message: { role: 'assistant', tool_calls: [] }, logprobs: null, stop_reason: null }],
        usage: {
          prompt_tokens: expect.any(Number),
          completion_tokens: expect.any(Number),
          prompt_tokens_details: null,
        },
        prompt_logprobs: null,
      })
      const stream = await openai().chat.completions.create(ask({ stream: true as const }))
      let streamed = ''
      for await (const chunk of stream as unknown as AsyncIterable<OpenAI.ChatCompletionChunk>) {
        streamed += chunk.choices[0]?.delta.content ?? ''
      }
      expect(streamed).toBe(answer.choices[0]?.message.content)
      await expect(openai().chat.completions.create(ask({ model: 'nobody' }))).rejects.toMatchObject({
        status: 404,
        code: 'model_not_found',
      })
    })

    it('5: both management endpoints tell the truth while it is awake and after, and refuse strangers', async () => {
      await openai().chat.completions.create(ask())
      expect(await cardsUsed()).toMatchObject({ name: 'nvidia.com/gpu-l40s', hard: 3, used: 1 })
      const pods = await kubectl('get pods -o wide')
      expect(pods.stdout).toMatch(/model-smollm2-\S+ +1\/1 +Running +0 +\S+ +\d+\.\d+\.\d+\.\d+/)
      const logs = await kubectl('logs -l sluice.dev/model=smollm2 --tail=50')
      expect(logs.stdout).toContain('the model can answer')

      const detail = await manage(`/api/vks/v1/${sluice.endpoints.clusterId}`)
      expect(detail).toMatchObject({
        status: 200,
        body: { code: 0, data: { id: sluice.endpoints.clusterId, name: 'first', status: 'Running' } },
      })
      const centers = await manage('/api/aidc/v1/list')
      expect(centers).toMatchObject({
        status: 200,
        body: { code: 0, data: [{ id: '1', code: 'local-1', endpoInt: sluice.endpoints.management }] },
      })
      expect(await manage('/api/aidc/v1/list', '')).toMatchObject({ status: 401, body: { code: -1 } })
      expect(await manage('/api/aidc/v1/list', 'plain Credential=a,Signature=b')).toMatchObject({
        status: 401,
        body: { code: -1 },
      })
      expect(await manage('/api/vks/v1/vksunknown')).toMatchObject({ status: 404, body: { code: -1 } })

      await asleep()
      await until('the card to be free', 30_000, async () => (await cardsUsed())?.used === 0)
      expect((await kubectl('get pods')).stdout).not.toContain('model-smollm2')
      const events = (await kubectl('get events')).stdout
      expect(events).toContain('model/smollm2')
    })

    it('6: the gateway answers at its exposed address, with a certificate of our own authority', async () => {
      const { ca, gatewayExposed } = sluice.endpoints
      const listed = await runProgram('curl', ['-sS', '--fail', '--cacert', ca, `${gatewayExposed}/openai/v1/models`])
      expect(listed.stderr).toBe('')
      expect(JSON.parse(listed.stdout)).toMatchObject({ object: 'list', data: [{ id: 'smollm2', object: 'model' }] })
      const stranger = (gatewayExposed ?? '').replace('gateway-x-', 'nobody-x-')
      expect(JSON.parse((await runProgram('curl', ['-sS', '--cacert', ca, stranger])).stdout)).toMatchObject({
        error: { code: 'host_not_exposed' },
      })
      expect((await kubectl('get serviceexporters')).stdout).toContain(gatewayExposed)
    })

    it.each([
      ['its own address', () => sluice.endpoints.gateway, 'chat-page'],
      ['the exposed address', () => sluice.endpoints.gatewayExposed, 'chat-page-exposed'],
    ])('7: on the chat page at %s a person sees the model wake and answer', async (_name, address, picture) => {
      await asleep()
      const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1100, height: 760 } })
      const page = await context.newPage()
      await page.goto(`${address()}/`)
      await page.getByTestId('model-picker').waitFor()
      await page.getByTestId('composer').fill(question)
      await page.keyboard.press('Enter')
      await page.getByTestId('waking').waitFor()
      await page.screenshot({ path: join(results, `${picture}-waking.png`) })
      const answer = page.getByTestId('message-assistant').filter({ hasText: 'Paris' })
      await answer.waitFor({ timeout: 90_000 })
      await page.getByTestId('stats').waitFor()
      expect(await page.getByTestId('message-user').textContent()).toContain(question)
      expect(await page.getByTestId('error').count()).toBe(0)
      await page.screenshot({ path: join(results, `${picture}.png`) })
      await context.close()
    })

    it('8: kill -9 and a new npm start on the same directory: everything is still there, the awake model goes on', async () => {
      // The model must not fall asleep in between, however slow the machine is.
      await kubectl('annotate model smollm2 sluice.dev/idle-window-seconds=600')
      await kubectl('create configmap kept --from-literal=a=b')
      await openai().chat.completions.create(ask())
      const podBefore = (await kubectl('get pods -l sluice.dev/model=smollm2 -o jsonpath={.items[0].metadata.name}'))
        .stdout
      const before = { clusterId: sluice.endpoints.clusterId, credentials: credentials() }
      const engines = podProcesses(data)
      expect(engines.length).toBeGreaterThan(0)
      await sluice.killHard()
      expect(podProcesses(data)).toEqual(engines)

      sluice = await SluiceProcess.start(data, flags)
      expect({ clusterId: sluice.endpoints.clusterId, credentials: credentials() }).toEqual(before)
      expect((await kubectl('get configmap kept -o jsonpath={.data.a}')).stdout).toBe('b')
      expect((await kubectl('get pods -l sluice.dev/model=smollm2 -o jsonpath={.items[0].metadata.name}')).stdout).toBe(
        podBefore,
      )
      expect(podProcesses(data)).toEqual(engines)
      const answer = await openai().chat.completions.create(ask())
      expect(answer.choices[0]?.message.content).toContain('Paris')
      expect(podProcesses(data)).toEqual(engines)
    })

    it('8: Ctrl-C ends every process it started', async () => {
      await openai().chat.completions.create(ask())
      expect(podProcesses(data).length).toBeGreaterThan(0)
      sluice.pressControlC()
      const left = () => [...processesMentioning(data), ...podProcesses(data)]
      await until('every process to end', 20_000, () => left().length === 0)
      expect(existsSync(join(data, 'endpoints.json'))).toBe(false)
    })
  },
)
