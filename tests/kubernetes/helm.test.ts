import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'

const helm = join(process.env['KUBEBUILDER_ASSETS'] ?? '', 'helm')
const absent = process.env['KUBEBUILDER_ASSETS'] === undefined || !existsSync(helm)

function writeChart(folder: string, version: string, image: string): string {
  const chart = join(folder, 'tiny')
  mkdirSync(join(chart, 'templates'), { recursive: true })
  writeFileSync(join(chart, 'Chart.yaml'), `apiVersion: v2\nname: tiny\nversion: ${version}\nappVersion: "7"\n`)
  writeFileSync(join(chart, 'values.yaml'), `replicas: 1\nimage: ${image}\nmodel: true\n`)
  writeFileSync(
    join(chart, 'templates', 'all.yaml'),
    `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-settings
data:
  version: "{{ .Chart.Version }}"
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector: { matchLabels: { app: {{ .Release.Name }} } }
  template:
    metadata: { labels: { app: {{ .Release.Name }} } }
    spec: { containers: [{ name: main, image: {{ .Values.image }} }] }
{{- if .Values.model }}
---
apiVersion: sluice.dev/v1
kind: Model
metadata:
  name: {{ .Release.Name }}
spec:
  url: pvc://userdata/models/smollm2
  engine: LlamaCpp
{{- end }}
`,
  )
  return chart
}

onEachServer((server) => {
  describe.skipIf(absent)(`helm${absent ? ' ($KUBEBUILDER_ASSETS has none)' : ''}`, () => {
    const run = async (...words: string[]) => {
      const base = ['--kubeconfig', server.address.kubeconfig, '--namespace', server.namespace]
      const { code, stdout, stderr } = await server.run(helm, [...words, ...base])
      expect(code, `helm ${words.join(' ')}: ${stdout}${stderr}`).toBe(0)
      return stdout
    }

    it('installs, lists, upgrades, rolls back and uninstalls', async () => {
      const chart = writeChart(server.folder, '1.0.0', server.image)
      expect(await run('install', 'demo', chart)).toMatch(/STATUS: deployed/)
      expect(await run('list')).toMatch(/^demo\s+\S+\s+1\s+.*deployed\s+tiny-1\.0\.0\s+7\s*$/m)
      expect((await server.ok('GET', server.path('configmaps/demo-settings')))['data']).toEqual({ version: '1.0.0' })
      expect(await server.ok('GET', server.path('deployments/demo', 'apps/v1'))).toMatchObject({
        spec: { replicas: 1 },
      })
      expect(await server.ok('GET', server.path('models/demo', 'sluice.dev/v1'))).toMatchObject({
        spec: { engine: 'LlamaCpp' },
      })
      writeChart(server.folder, '1.1.0', server.image)
      await run('upgrade', 'demo', chart, '--set', 'replicas=3', '--set', 'model=false')
      expect(await server.ok('GET', server.path('deployments/demo', 'apps/v1'))).toMatchObject({
        spec: { replicas: 3 },
      })
      expect((await server.http('GET', server.path('models/demo', 'sluice.dev/v1'))).code).toBe(404)
      await run('rollback', 'demo', '1')
      expect(await server.ok('GET', server.path('deployments/demo', 'apps/v1'))).toMatchObject({
        spec: { replicas: 1 },
      })
      expect(await run('history', 'demo')).toMatch(/Rollback to 1/)
      expect(await run('uninstall', 'demo')).toContain('release "demo" uninstalled')
      expect((await server.http('GET', server.path('deployments/demo', 'apps/v1'))).code).toBe(404)
      expect((await server.ok('GET', server.path('secrets'))).items).toEqual([])
    })
  })
})
