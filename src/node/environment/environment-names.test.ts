import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { configMapKind } from '../../resources/config-map.ts'
import { secretKind } from '../../resources/secret.ts'
import { AgentStage } from '../agent-stage.fixture.ts'

let stage: AgentStage
afterEach(() => stage.close())

/** Names that no shell could set. */
const odd = { 'data-1': 'dash', 'my.key': 'dot', '1st': 'digit', 'a b': 'space', "it's": 'quote', '$(x)`"\\': 'all' }
const writeEnvironment = `require('fs').writeFileSync('/sluice-out/' + process.env.FILE, JSON.stringify(process.env))`
const tell = [process.execPath, '-e', writeEnvironment]

describe.each(['paths', 'namespaces'] as const)('the environment of a container with %s', (mode) => {
  const told = (file: string): unknown => JSON.parse(readFileSync(join(stage.dataDir, 'volumes', 'out', file), 'utf8'))

  it('has all variables by their names, whatever these are', async () => {
    stage = await new AgentStage(mode).prepare()
    const metadata = (name: string) => ({ name, namespace: 'default' })
    await stage.client.create(configMapKind, { metadata: metadata('c'), data: { 'from-map.x': 'map' } })
    const data = { 'from-secret.x': Buffer.from('secret').toString('base64') }
    await stage.client.create(secretKind, { metadata: metadata('s'), data })
    await stage.create(
      'names',
      '',
      {
        command: tell,
        args: [],
        env: [{ name: 'FILE', value: 'own' }, ...Object.entries(odd).map(([name, value]) => ({ name, value }))],
        envFrom: [{ configMapRef: { name: 'c' } }, { prefix: 'p-', secretRef: { name: 's' } }],
        volumeMounts: [{ name: 'out', mountPath: '/sluice-out' }],
        lifecycle: {},
      },
      { restartPolicy: 'Never', volumes: [{ name: 'out', persistentVolumeClaim: { claimName: 'out' } }] },
    )
    await stage.until('names', (pod) => pod.status?.phase === 'Succeeded')
    expect(told('own')).toMatchObject({ ...odd, 'from-map.x': 'map', 'p-from-secret.x': 'secret' })
  })

  it('is that of programs that are run beside it, too', async () => {
    stage = await new AgentStage(mode).prepare()
    const env = [{ name: 'FILE', value: 'beside' }, ...Object.entries(odd).map(([name, value]) => ({ name, value }))]
    const volumeMounts = [{ name: 'out', mountPath: '/sluice-out' }]
    const readinessProbe = { exec: { command: tell }, periodSeconds: 1, timeoutSeconds: 10 }
    const volumes = [{ name: 'out', persistentVolumeClaim: { claimName: 'out' } }]
    await stage.create('names', 'exec sleep 60', { env, volumeMounts, readinessProbe }, { volumes })
    await stage.until('names', (pod) => pod.status?.containerStatuses?.[0]?.ready === true)
    expect(told('beside')).toMatchObject(odd)
  })
})
